"""Where the command `playhouse` is."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from playhouse_sdk.errors import PlayhouseError


def find_binary() -> Path:
    """The binary that came with this package, else the one on PATH."""
    # Only here: a plugin, which never asks, starts sooner without it.
    import importlib.metadata

    for file in importlib.metadata.files("playhouse-sdk") or []:
        if file.name in ("playhouse", "playhouse.exe"):
            found = Path(os.fspath(file.locate())).resolve()
            if found.is_file():
                return found
    on_path = shutil.which("playhouse")
    if on_path is None:
        raise PlayhouseError(
            "there is no `playhouse` in this package or on PATH; install a wheel that has it for this platform, "
            "or put the binary on PATH"
        )
    return Path(on_path)


def environment() -> dict[str, str]:
    """The environment of a Playhouse that is started here: `python3` is this Python, so that plugins find the package."""
    folder = str(Path(sys.executable).parent)
    return {**os.environ, "PATH": os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])}
