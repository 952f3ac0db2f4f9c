"""A session of a program in a process of its own, for scripts and notebooks."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Union, cast

from playhouse_sdk.binary import environment, find_binary
from playhouse_sdk.errors import PlayhouseError, ProgramFailed
from playhouse_sdk.events import Event
from playhouse_sdk.relay import Relays
from playhouse_sdk.reply import Hearing, Reply

PathText = Union[str, "os.PathLike[str]"]

#: A file of canned tools, or functions by the name of the plugin that they make: `{"desk": [order_state]}`.
Tools = Union[PathText, Mapping[str, Sequence[Callable[..., Any]]]]

#: How long the process may take to leave, in seconds.
_LEAVES_WITHIN = 5.0


class Session:
    """Runs a program by `playhouse run`.

        with Session("order-status.md", model="embedded") as session:
            print(session.say("4334"))

    Args:
        files: The program's files.
        tools: A file of canned tools, or functions of yours.
        model: The model, as for `--model`.
        arguments: Arguments of the first playbook, or variables.
        options: Further options of `playhouse run`: `["--session", "ida"]`.
        folder: Where it runs: paths are relative to it.
        env: The environment, instead of that of this process.
        binary: The command, instead of the one that is found.

    Attributes:
        opening: What came before anybody said anything to the program: a `Reply`.
        said: All utterances since `start`.
        events: All events since `start`.
        variables: The last value that each variable had, by its name; of a stored session that continues, also before `start`.
        is_over: Whether the program has finished.
        value: What the program has returned.
    """

    def __init__(
        self,
        *files: PathText,
        tools: Tools | None = None,
        model: str | None = None,
        arguments: Mapping[str, Any] | None = None,
        options: Iterable[str] = (),
        folder: PathText | None = None,
        env: Mapping[str, str] | None = None,
        binary: PathText | None = None,
    ) -> None:
        self._binary = os.fspath(binary or find_binary())
        self._command = [self._binary, "run", *(os.fspath(file) for file in files)]
        self._functions: Mapping[str, Sequence[Callable[..., Any]]] = {}
        if isinstance(tools, Mapping):
            self._functions = tools
        elif tools is not None:
            self._command += ["--tools", os.fspath(tools)]
        if model is not None:
            self._command += ["--model", model]
        for name, value in (arguments or {}).items():
            self._command += ["--arg", f"{name}={json.dumps(value)}"]
        given = list(options)
        self._command += given
        #: Where it is stored, if an option says so.
        self._journal = _option("--journal", given)
        self._folder = folder
        self._env = dict(env) if env is not None else environment()
        self._has_started = False
        self._relays: Relays | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._lines: IO[bytes] | None = None
        self._report: IO[bytes] | None = None
        self._last = Reply()
        #: What was asked about calls, by their numbers.
        self._questions: dict[int, str] = {}
        self.is_over: bool = False
        self.opening: Reply = Reply()
        self.said: list[str] = []
        self.events: list[Event] = []
        self.variables: dict[str, Any] = {}

    @property
    def value(self) -> Any:
        """What the program has returned."""
        return self._last.value

    def start(self) -> Session:
        """Starts the program, and hears it until it waits or has finished. `with` does so by itself.

        Raises:
            ProgramFailed: It could not begin, or failed.
        """
        if self._has_started:
            raise PlayhouseError("this session has been started before; make another `Session`")
        self._has_started = True
        try:
            self._begin()
            self.opening = self._hear()
        except BaseException:
            self.close()
            raise
        return self

    def _begin(self) -> None:
        command = self._command
        if self._functions:
            self._relays = Relays(self._functions)
            command = [*command, str(self._relays.program)]
        self._report = tempfile.TemporaryFile()
        read, write = os.pipe()
        self._lines = os.fdopen(read, "rb")
        try:
            self._process = subprocess.Popen(
                [*command, "--events", f"/dev/fd/{write}"],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                stderr=self._report,
                pass_fds=[write],
                cwd=self._folder,
                env=self._env,
                # Ctrl-C is for this process: the other one ends with its input.
                start_new_session=True,
            )
        finally:
            os.close(write)

    def say(self, text: str) -> Reply:
        """Says something to the program, which waits for the user; gives what came of it."""
        if self._last.waiting == "approval":
            raise PlayhouseError(f"the program waits for an answer to {self._last.question!r}; give it by `answer`")
        return self._send(text)

    def answer(self, answer: bool | str) -> Reply:
        """Answers what a person is asked about a call: yes, no, or words."""
        if self._last.waiting != "approval":
            raise PlayhouseError("the program asks nothing about a call; talk with it by `say`")
        return self._send(answer if isinstance(answer, str) else "y" if answer else "n")

    def close(self) -> None:
        """Ends the process. The session is kept, as `playhouse sessions list` shows."""
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()
            try:
                self._process.wait(_LEAVES_WITHIN)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        for resource in (self._lines, self._report, self._relays):
            if resource is not None:
                resource.close()
        self._process = self._lines = self._report = self._relays = None

    def __enter__(self) -> Session:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _send(self, text: str) -> Reply:
        if self.is_over:
            raise PlayhouseError("the program has finished; begin another session")
        if self._process is None or self._process.stdin is None:
            raise PlayhouseError("the session is not open; use it inside `with`, or call `start` first")
        if "\n" in text or "\r" in text:
            raise ValueError("here a message is one line; `Client` takes texts of several lines")
        try:
            self._process.stdin.write(text.encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise ProgramFailed(self._ended()) from None
        return self._hear(until="approval_given" if self._last.waiting == "approval" else "user_message")

    def _hear(self, until: str | None = None) -> Reply:
        """Hears until the program waits again; after `until`, for a timer may have made it speak before."""
        assert self._lines is not None
        hearing, has_begun = Hearing(), until is None
        for line in self._lines:
            event = cast(Event, json.loads(line))
            self.events.append(event)
            self._note(event)
            if event["type"] == "said":
                self.said.append(event["text"])
            elif event["type"] == "session_resumed":
                self._look_back(event["session"])
            has_begun = has_begun or event["type"] == until
            if not has_begun and event["type"] == "waiting":
                continue
            try:
                reply = hearing.add(event)
            except ProgramFailed as failure:
                raise ProgramFailed(self._ended(), failure.fault) from None
            if reply is not None:
                if event["type"] == "waiting" and reply.waiting == "approval" and reply.question is None:
                    # It was asked before this process began.
                    reply.call = event.get("call")
                    reply.question = self._questions.get(reply.call) if reply.call is not None else None
                self._last, self.is_over = reply, reply.waiting is None
                return reply
        raise ProgramFailed(self._ended())

    def _note(self, event: Event) -> None:
        if event["type"] == "variable_set":
            self.variables[event["name"]] = event["value"]
        elif event["type"] == "approval_asked":
            self._questions[event["call"]] = event["question"]

    def _look_back(self, session: str) -> None:
        """What happened before a stored session continued."""
        command = [self._binary, "sessions", "export", session, "--format", "json", *self._journal]
        done = subprocess.run(command, cwd=self._folder, env=self._env, capture_output=True)
        if done.returncode != 0:
            raise PlayhouseError(done.stderr.decode(errors="replace").strip())
        for event in json.loads(done.stdout)["events"]:
            self._note(event)

    def _ended(self) -> str:
        """Why the process has ended, in its own words."""
        assert self._process is not None and self._report is not None
        code = self._process.wait()
        self._report.seek(0)
        report = self._report.read().decode(errors="replace").strip()
        return report or f"`{' '.join(self._command)}` ended with exit code {code} and said nothing"


def _option(name: str, options: list[str]) -> list[str]:
    """An option with its value, as it is given."""
    for i, option in enumerate(options):
        if option == name:
            return options[i : i + 2]
        if option.startswith(f"{name}="):
            return [option]
    return []
