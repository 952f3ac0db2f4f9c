"""The fixture `playhouse` for pytest, which finds it by itself once this package is installed."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from playhouse_sdk.binary import environment, find_binary
from playhouse_sdk.session import PathText, Session


class Playhouse:
    """Plays and checks the files beside a test. A failure shows what the command line says."""

    def __init__(self, folder: Path, state: Path) -> None:
        #: Paths are relative to it: the folder of the test's file.
        self.folder = folder
        self._environment = {**environment(), "XDG_STATE_HOME": str(state), "NO_COLOR": "1"}
        self._sessions: list[Session] = []

    def play(self, *paths: PathText, options: tuple[str, ...] = ()) -> None:
        """Plays conversations, users and trigger tables, as `playhouse test` does."""
        self._expect_success("test", *paths, *options)

    def check(self, *files: PathText, tools: PathText | None = None, plugins: Iterable[PathText] = ()) -> None:
        """Expects that `playhouse check` finds no error, and that the plugins in these folders start.

        A plugin does not start if its functions are not those that it has declared.
        """
        self._expect_success("check", *files, *(("--tools", tools) if tools is not None else ()))
        for plugin in plugins:
            self._expect_success("plugin", "check", plugin, "--start")

    def session(self, *files: PathText, **options: Any) -> Session:
        """Starts a session, with the arguments of `Session`. It ends with the test."""
        session = Session(*files, **{"folder": self.folder, "env": self._environment, **options})
        self._sessions.append(session)
        return session.start()

    def close(self) -> None:
        """Ends all sessions."""
        for session in self._sessions:
            session.close()

    def _expect_success(self, *arguments: PathText) -> None:
        command = ["playhouse", *(os.fspath(argument) for argument in arguments)]
        done = subprocess.run(
            command, executable=find_binary(), cwd=self.folder, env=self._environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            pytest.fail(f"{' '.join(command)}: exit code {done.returncode}\n{done.stdout}{done.stderr}", pytrace=False)


@pytest.fixture
def playhouse(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Playhouse]:
    """Plays and checks the files beside the test, and begins sessions with them."""
    made = Playhouse(request.path.parent, tmp_path / "state")
    yield made
    made.close()
