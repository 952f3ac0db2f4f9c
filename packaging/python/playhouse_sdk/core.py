"""What both clients of a server have in common: requests, answers, streams of events and patience. Nothing here does I/O."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, Literal, TypedDict, TypeVar, cast
from urllib.parse import quote, urlsplit

from playhouse_sdk.errors import Problem, Unreachable
from playhouse_sdk.events import Event
from playhouse_sdk.reply import Reply

if TYPE_CHECKING:
    from typing_extensions import NotRequired

T = TypeVar("T")

Show = Literal["all", "speech"]

#: A stream that says nothing for so long, in seconds, is lost: the server sends a sign of life every 15.
SILENCE: float = 45.0

#: States in which nothing more comes.
OVER = ("finished", "failed")

#: The first pause before another attempt, in seconds; each is twice as long as the one before, up to the last.
FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 2.0


class Approval(TypedDict):
    """What a person is asked about a call."""

    call: int
    question: str
    tool: NotRequired[str]
    #: Of each argument its name, its value, and where that comes from.
    args: list[list[Any]]


class OpenApproval(Approval):
    """A question that is open, and its session."""

    session: str
    program: str
    asked: str


class SessionInfo(TypedDict):
    """A session as the server describes it."""

    id: str
    program: str
    version: str
    state: Literal["speaking", "waiting", "approval", "timer", "finished", "failed", "interrupted"]
    approval: Approval | None
    mark: str
    created: str
    last: str
    labels: dict[str, str]
    owner: str
    live: bool
    forked_from: dict[str, str] | None
    value: NotRequired[Any]
    fault: NotRequired[dict[str, str]]
    tokens: int
    cost: float | None


class SessionPage(TypedDict):
    """Sessions, the newest first."""

    sessions: list[SessionInfo]
    #: What `before` of the next page is.
    next: str | None


class Taken(TypedDict):
    """A message is in the journal. What comes of it are the events after the mark."""

    mark: str
    duplicate: bool


class Answered(TypedDict):
    """An answer about a call."""

    answer: bool | str
    by: str


@dataclass(frozen=True)
class Request(Generic[T]):
    """One request, and, as a type, its answer."""

    method: str
    path: str
    body: Mapping[str, Any] | None = None
    query: Mapping[str, str] = field(default_factory=dict)
    #: Whether it may be sent again when it is not known whether it has arrived.
    is_repeatable: bool = True

    def read(self, status: int, content: bytes, headers: Mapping[str, str]) -> T:
        """The answer, as it came.

        Raises:
            Problem: The server refused it.
        """
        if status >= 400:
            raise problem(status, content, headers)
        return cast(T, json.loads(content) if content else None)


def address(url: str) -> str:
    """The address of a server, which the paths of requests follow.

    Raises:
        ValueError: It is not an address.
    """
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc:
        raise ValueError(f"{url!r} is not the address of a server; write all of it, as in 'http://127.0.0.1:7000'")
    return url.rstrip("/")


def begin(
    program: str,
    id: str | None,
    playbook: str | None,
    arguments: Mapping[str, Any] | None,
    labels: Mapping[str, str] | None,
) -> Request[SessionInfo]:
    """Begins a session with this id, or one made here: sent again, it is the same session."""
    body: dict[str, Any] = {"program": program, "arguments": arguments or {}, "labels": labels or {}}
    if playbook is not None:
        body["playbook"] = playbook
    return Request("PUT", f"/api/sessions/{_part(id or new_id())}", body)


def send(session: str, text: str, id: str | None) -> Request[Taken]:
    """Says something; with an id it is taken once."""
    return Request("POST", f"{_of(session)}/messages", {"text": text, "id": id or new_id()})


def signal(session: str, name: str, data: Any, id: str | None) -> Request[Taken]:
    """Sends an event from outside; with an id it is taken once."""
    return Request("POST", f"{_of(session)}/events", {"name": name, "data": data, "id": id or new_id()})


def interrupt(session: str) -> Request[Taken]:
    """Cancels what is going on. Sent again, it could cancel something else."""
    return Request("POST", f"{_of(session)}/interrupt", is_repeatable=False)


def get(session: str) -> Request[SessionInfo]:
    """A session."""
    return Request("GET", _of(session))


def state(session: str) -> Request[dict[str, Any]]:
    """Where a session stands: stack, variables, conversation."""
    return Request("GET", f"{_of(session)}/state")


def delete(session: str) -> Request[None]:
    """Deletes a session for good. Sent again, it would not be found."""
    return Request("DELETE", _of(session), is_repeatable=False)


def sessions(
    program: str | None, state: str | None, before: str | None, limit: int | None, labels: Mapping[str, str] | None
) -> Request[SessionPage]:
    """A page of sessions."""
    query = {"program": program, "state": state, "before": before, "limit": limit}
    given = {name: str(value) for name, value in query.items() if value is not None}
    given.update({f"label.{name}": value for name, value in (labels or {}).items()})
    return Request("GET", "/api/sessions", query=given)


def approvals() -> Request[dict[Literal["approvals"], list[OpenApproval]]]:
    """All questions about calls that are open."""
    return Request("GET", "/api/approvals")


def answer(session: str, call: int, answer: bool | str) -> Request[Answered]:
    """Answers one of them. Sent again, it would answer what nobody asks any more."""
    return Request("POST", f"{_of(session)}/approvals/{call}", {"answer": answer}, is_repeatable=False)


def unheard(before: SessionInfo, taken: Taken) -> Reply | None:
    """What comes at once of a message to a program that waited for an answer about a call: that question again."""
    approval = before["approval"]
    if before["state"] != "approval" or approval is None or taken["duplicate"]:
        return None
    return Reply(waiting="approval", question=approval["question"], call=approval["call"], mark=taken["mark"])


def new_id() -> str:
    """An id that nobody else has."""
    return uuid.uuid4().hex


def problem(status: int, content: bytes, headers: Mapping[str, str]) -> Problem:
    """The problem document of an answer; what stands before a server may have none."""
    try:
        document = json.loads(content)
    except ValueError:
        document = None
    if not isinstance(document, dict):
        document = {"detail": content.decode(errors="replace")[:1000]}
    after = headers.get("retry-after", "")
    return Problem(status, document, float(after) if after.isdigit() else None)


class Patience:
    """How long something is tried again, and after which pauses."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._since: float | None = None
        self._pause = FIRST_PAUSE

    def succeeded(self) -> None:
        """The server answers: the next failure is the first one again."""
        self._since, self._pause = None, FIRST_PAUSE

    def failed(self, cause: Exception, now: float) -> float:
        """After how many seconds to try again.

        Raises:
            Unreachable: It has been tried for long enough.
            Problem: The same, where the server answers.
        """
        self._since = now if self._since is None else self._since
        pause, self._pause = self._pause, min(self._pause * 2, _LONGEST_PAUSE)
        if isinstance(cause, Problem):
            if cause.retry_after is None:
                raise cause
            pause = max(pause, cause.retry_after)
        if now + pause - self._since > self._seconds:
            if isinstance(cause, Problem):
                raise cause
            raise Unreachable(f"the server could not be reached for {self._seconds:g} s: {cause}") from cause
        return pause


class Following:
    """The events of a session after a mark, over as many connections as it takes."""

    def __init__(self, session: str, after: str | None, show: Show) -> None:
        self._session = session
        self._show = show
        #: The mark of the last event.
        self.mark = after
        #: The program has finished or failed: nothing more comes.
        self.is_over: bool = False
        self._rest = b""
        self._n_events = 0

    def request(self) -> Request[None]:
        """The next connection's."""
        self._rest, self._n_events = b"", 0
        query: dict[str, str] = {"show": self._show}
        if self.mark is not None:
            query["after"] = self.mark
        return Request("GET", f"{_of(self._session)}/events", query=query)

    @property
    def is_doubtful(self) -> bool:
        """The connection has ended and told nothing: perhaps all has been told before."""
        return self._n_events == 0

    def feed(self, piece: bytes) -> Iterator[Event]:
        """The events that end in a piece of the stream."""
        *whole, self._rest = (self._rest + piece).split(b"\n\n")
        for text in whole:
            event = self._read(text)
            if event is not None:
                self._n_events += 1
                yield event

    def _read(self, text: bytes) -> Event | None:
        fields: dict[str, str] = {}
        for line in text.decode().split("\n"):
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        kind = fields.get("event")
        if kind == "reset":
            self.mark = None
            return {"type": "reset"}
        if kind is None or kind == "bye":
            return None
        event = json.loads(fields["data"])
        if "id" in fields:
            event["mark"] = self.mark = fields["id"]
        self.is_over = self.is_over or kind in OVER
        return cast(Event, event)


def _of(session: str) -> str:
    return f"/api/sessions/{_part(session)}"


def _part(text: str) -> str:
    return quote(text, safe="")
