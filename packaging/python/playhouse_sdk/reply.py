"""What comes of a message: the same for a session of the server and for one in a process of ours."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from playhouse_sdk.errors import PlayhouseError, ProgramFailed
from playhouse_sdk.events import Event


@dataclass
class Reply:
    """What a program said, and what it waits for. As text it is what was said, one utterance per line.

    Attributes:
        said: The utterances, in order.
        waiting: For whom the program waits; None: it has finished.
        question: What a person is asked about a call.
        call: The number of that call, for `Client.answer`.
        mark: The mark of the last event: `Client.hear` goes on after it. A session in a process has none.
        value: What the program has returned, if it has finished.
    """

    said: list[str] = field(default_factory=list[str])
    waiting: Literal["user", "approval"] | None = None
    question: str | None = None
    call: int | None = None
    mark: str | None = None
    value: Any = None

    def __str__(self) -> str:
        return "\n".join(self.said)


class Hearing:
    """Makes a reply of the events that come one by one."""

    def __init__(self) -> None:
        self._reply = Reply()

    def add(self, event: Event) -> Reply | None:
        """Takes an event; gives the reply once the program waits for a person, or has finished."""
        reply = self._reply
        reply.mark = event.get("mark", reply.mark)
        if event["type"] == "said":
            reply.said.append(event["text"])
        elif event["type"] == "approval_asked":
            reply.question, reply.call = event["question"], event["call"]
        elif event["type"] == "waiting":
            if event["for"] == "user" or event["for"] == "approval":
                reply.waiting = event["for"]
                return reply
        elif event["type"] == "finished":
            reply.value = event.get("value")
            return reply
        elif event["type"] == "failed":
            raise ProgramFailed(event.get("message", "the program failed"), event.get("fault"))
        elif event["type"] == "reset":
            raise PlayhouseError("the server does not know this place of the session any more; hear it from the beginning")
        return None
