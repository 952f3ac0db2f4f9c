"""Between Playhouse, which starts processes, and functions that live in a process which runs already.

Tools of a `Session` are functions of a script or a notebook. Playhouse starts this module as their plugin, and it hands
each line to that script or notebook and back:

    python -m playhouse_sdk.relay SOCKET
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from playhouse_sdk.plugin import config_text
from playhouse_sdk.serving import Plugin
from playhouse_sdk.tools import Tool, tools_of


class Relays:
    """Plugins whose tools are functions here. `program` is a file that declares them, to be given beside a program's."""

    def __init__(self, plugins: Mapping[str, Iterable[Callable[..., Any]]]) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="playhouse-")
        root = Path(self._folder.name)
        self._listeners = []
        declared = []
        for name, functions in plugins.items():
            tools = tools_of(functions)
            config = root / name / ".config" / "config.yaml"
            config.parent.mkdir(parents=True)
            address = str(root / f"{name}.socket")
            command = [sys.executable, "-m", "playhouse_sdk.relay", address]
            # A group of its own: the files that Playhouse keeps of the real plugin below `.runtime` are not for this one.
            config.write_text(config_text(name, tools, command, group="playhouse.session"), encoding="utf-8")
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(address)
            listener.listen()
            self._listeners.append(listener)
            threading.Thread(target=_answer, args=(listener, tools), daemon=True).start()
            declared.append(f"  {name}: {{path: {json.dumps(str(root / name))}, replaces: true}}\n")
        self.program: Path = root / "tools.md"
        self.program.write_text(f"---\nplugins:\n{''.join(declared)}---\n", encoding="utf-8")

    def close(self) -> None:
        """Nobody is answered any more."""
        for listener in self._listeners:
            listener.close()
        self._folder.cleanup()


def _answer(listener: socket.socket, tools: list[Tool]) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=_serve, args=(connection, tools), daemon=True).start()


def _serve(connection: socket.socket, tools: list[Tool]) -> None:
    with connection, connection.makefile("r", encoding="utf-8", newline="\n") as lines:
        Plugin(tools, lambda line: connection.sendall(line.encode())).serve(lines)


def main(address: str) -> None:
    connection = socket.socket(socket.AF_UNIX)
    connection.connect(address)

    def hand_out() -> None:
        while piece := connection.recv(1 << 16):
            os.write(1, piece)
        os._exit(0)

    threading.Thread(target=hand_out, daemon=True).start()
    while piece := os.read(0, 1 << 16):
        connection.sendall(piece)


if __name__ == "__main__":
    main(sys.argv[1])
