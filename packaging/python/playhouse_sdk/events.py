"""The events of a session, as `playhouse run --events` and the server tell them: dictionaries that `type` tells apart.

Playhouse adds fields and kinds of events in later versions, and never changes those that are here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired, TypeAlias


class _Event(TypedDict):
    session: str
    #: Where the event stands in its session. A piece of speech, and what the journal does not keep, may have none.
    mark: NotRequired[str]
    #: RFC 3339; from a server only.
    time: NotRequired[str]
    agent: NotRequired[str]
    playbook: NotRequired[str]
    plan: NotRequired[str]
    line: NotRequired[str]
    depth: NotRequired[int]
    turn: NotRequired[int]


class Update(TypedDict):
    """One change of a variable."""

    name: str
    old: Any
    new: Any


class SessionStarted(_Event):
    type: Literal["session_started"]
    program: NotRequired[str]
    model: NotRequired[str]


class SessionResumed(_Event):
    type: Literal["session_resumed"]
    program: NotRequired[str]
    model: NotRequired[str]


class TurnStarted(_Event):
    type: Literal["turn_started"]
    kind: Literal["start", "resume", "continue"]
    messages: int
    prompt_tokens: int
    untaken: NotRequired[list[int]]


class TurnFinished(_Event):
    type: Literal["turn_finished"]
    end: Literal["wait", "return", "end", "ended", "cut", "error"]
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    discarded_tokens: int
    estimated: bool
    ms: int


class LineReached(_Event):
    type: Literal["line_reached"]


class SaidDelta(_Event):
    """A piece of an utterance, as soon as the model has written it."""

    type: Literal["said_delta"]
    text: str
    utterance: int


class Said(_Event):
    """A whole utterance; its pieces came before."""

    type: Literal["said"]
    text: str


class VariableSet(_Event):
    type: Literal["variable_set"]
    name: str
    value: Any
    old: Any
    scope: Literal["local", "other"]
    origin: str


class VariableRemoved(_Event):
    type: Literal["variable_removed"]
    name: str
    reason: str


class CallQueued(_Event):
    type: Literal["call_queued"]
    call: int
    name: str
    kind: str
    args: Any
    written_in: NotRequired[int]


class CallStarted(_Event):
    type: Literal["call_started"]
    call: int
    name: str
    kind: str
    attempt: int


class CallFinished(_Event):
    type: Literal["call_finished"]
    call: int
    name: str
    kind: str
    result: NotRequired[Any]
    error: NotRequired[str]
    ms: int


class CallProgress(_Event):
    type: Literal["call_progress"]
    call: int
    value: Any


class TriggerEvaluated(_Event):
    type: Literal["trigger_evaluated"]
    trigger: str
    by: Literal["interpreter", "rules", "model", "script"]
    verdict: str
    reason: NotRequired[str]
    update: list[Update]
    ms: int
    tokens: NotRequired[int]


class TriggerMatched(_Event):
    type: Literal["trigger_matched"]
    trigger: str
    update: list[Update]


class StreamCancelled(_Event):
    type: Literal["stream_cancelled"]
    reason: NotRequired[str]
    discarded_bytes: NotRequired[int]
    withdrawn: NotRequired[list[int]]


class FramePushed(_Event):
    type: Literal["frame_pushed"]
    origin: str


class FramePopped(_Event):
    type: Literal["frame_popped"]
    value: NotRequired[Any]


class FrameElided(_Event):
    type: Literal["frame_elided"]
    left: str


class PlanFault(_Event):
    type: Literal["plan_fault"]
    fault: str
    seq_no: NotRequired[int]
    instruction: str
    parameter: NotRequired[str]
    message: str


class Replanned(_Event):
    type: Literal["replanned"]
    attempt: int


class Repair(_Event):
    type: Literal["repair"]
    cause: str
    attempt: int


class Retry(_Event):
    type: Literal["retry"]
    cause: str
    attempt: int
    #: After how long, in milliseconds; servers of older versions do not tell.
    delay_ms: NotRequired[int]


class Degraded(_Event):
    type: Literal["degraded"]
    cause: str


class Ignored(_Event):
    type: Literal["ignored"]
    cause: str


class SessionRenewed(_Event):
    type: Literal["session_renewed"]
    reason: str


class ProgramChanged(_Event):
    type: Literal["program_changed"]
    files: list[str]
    #: Each with `from` and `to`.
    lines: list[dict[str, Union[str, None]]]


class LinesSkipped(_Event):
    type: Literal["lines_skipped"]
    lines: list[str]
    reason: NotRequired[str]


class ApprovalAsked(_Event):
    type: Literal["approval_asked"]
    call: int
    question: str
    by_tool: NotRequired[bool]


class ApprovalGiven(_Event):
    type: Literal["approval_given"]
    call: int
    #: True, false, or words; words are missing with `show=speech`.
    answer: NotRequired[Any]
    #: The call is not made.
    refused: NotRequired[Literal[True]]
    #: Who has answered, if that is known.
    by: NotRequired[str]


class UserMessage(_Event):
    type: Literal["user_message"]
    text: str


class EventArrived(_Event):
    """An event from outside."""

    type: Literal["event_arrived"]
    event: str
    data: Any
    id: NotRequired[str]
    fate: Literal["taken", "passed_over", "repeated", "too_large"]


# `for` is a keyword of Python.
_WaitingFor = TypedDict("_WaitingFor", {"for": Literal["user", "approval", "timer", "reply", "call"]})


class Waiting(_Event, _WaitingFor):
    type: Literal["waiting"]
    call: NotRequired[int]


class Finished(_Event):
    type: Literal["finished"]
    value: NotRequired[Any]


class Failed(_Event):
    type: Literal["failed"]
    fault: NotRequired[str]
    message: NotRequired[str]


class Reset(TypedDict):
    """The server does not know the mark: all events of the session come again."""

    type: Literal["reset"]
    #: Never there. A type checker can ask for it as for that of any event.
    mark: NotRequired[str]


Event: TypeAlias = Union[
    SessionStarted,
    SessionResumed,
    TurnStarted,
    TurnFinished,
    LineReached,
    SaidDelta,
    Said,
    VariableSet,
    VariableRemoved,
    CallQueued,
    CallStarted,
    CallFinished,
    CallProgress,
    TriggerEvaluated,
    TriggerMatched,
    StreamCancelled,
    FramePushed,
    FramePopped,
    FrameElided,
    PlanFault,
    Replanned,
    Repair,
    Retry,
    Degraded,
    Ignored,
    SessionRenewed,
    ProgramChanged,
    LinesSkipped,
    ApprovalAsked,
    ApprovalGiven,
    UserMessage,
    EventArrived,
    Waiting,
    Finished,
    Failed,
    Reset,
]
