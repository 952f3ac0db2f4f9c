"""What the tests have in common: the folder's files in a place of their own, and servers that can be killed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playhouse_sdk import find_binary

HERE = Path(__file__).parent


class Server:
    """`playhouse serve`, which can be killed and started again at the same address."""

    def __init__(self, folder: Path, arguments: tuple[str, ...]) -> None:
        self.folder = folder
        self._arguments = arguments
        self.url = ""
        self._start("127.0.0.1:0")

    def restart(self) -> None:
        """As a power cut would: nothing is said to it."""
        self.stop()
        self._start(self.url.removeprefix("http://"))

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()

    def _start(self, address: str) -> None:
        process = subprocess.Popen(
            [find_binary(), "serve", *self._arguments, "--listen", address],
            cwd=self.folder,
            env={**os.environ, "XDG_STATE_HOME": str(self.folder / "state")},
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        with process.stdout or pytest.fail("no pipe") as said:
            self.url = said.readline().strip().rstrip("/")
        self.process = process
        assert self.url, "the server has not begun to listen"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the files beside the tests."""
    copy = tmp_path / "files"
    shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
    return copy


@pytest.fixture
def serve(folder: Path) -> Iterator[Callable[..., Server]]:
    """Starts a server in the copy: `serve("guide/desk.md", "--model", "embedded")`."""
    servers: list[Server] = []

    def start(*arguments: str) -> Server:
        servers.append(Server(folder, arguments))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()
