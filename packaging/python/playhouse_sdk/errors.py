"""What goes wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class PlayhouseError(Exception):
    """Anything that goes wrong between Python and Playhouse."""


class ProgramFailed(PlayhouseError):
    """The program of a session failed, or could not begin.

    Attributes:
        fault: The kind of failure, as the event `failed` names it.
    """

    def __init__(self, message: str, fault: str | None = None) -> None:
        super().__init__(message)
        self.fault = fault


class Unreachable(PlayhouseError):
    """The server did not answer for as long as the client was patient."""


class Problem(PlayhouseError):
    """The server refused a request. It carries the problem document (RFC 9457).

    Attributes:
        status: The HTTP status, such as 404.
        kind: The end of the document's `type`: `not_found`, `conflict`, …
        title: What the kind means, in a few words.
        detail: What is wrong, and what to do about it.
        errors: All mistakes in the body of the request, each with its `pointer` and `detail`.
        retry_after: After how many seconds a second attempt may succeed; None: it would not.
        document: The whole document.
    """

    def __init__(self, status: int, document: Mapping[str, Any], retry_after: float | None = None) -> None:
        self.status = status
        self.document = document
        self.kind: str = str(document.get("type", "")).rpartition(":")[2]
        self.title: str = str(document.get("title", ""))
        self.detail: str = str(document.get("detail", ""))
        self.errors: list[dict[str, str]] = list(document.get("errors", []))
        self.retry_after = retry_after
        places = "".join(f"\n  {error.get('pointer')}: {error.get('detail')}" for error in self.errors)
        super().__init__(f"{status} {self.kind}: {self.detail or self.title}{places}")


class ToolError(PlayhouseError):
    """A tool raises it to say, in words for the program's model, why a call failed.

    Attributes:
        detail: What stands after the error, as in `there is no such order: 4711`.
        retry: Whether another attempt may succeed. Playhouse makes it if the tool is `read_only` or `idempotent`.
    """

    def __init__(self, error: str, detail: str = "", *, retry: bool = False) -> None:
        super().__init__(error)
        self.detail = detail
        self.retry = retry


class Cancelled(BaseException):
    """Nobody waits for the call any more. No `Exception`, so that a tool does not catch it by accident."""


class Asks(BaseException):
    """Ends a tool that asks a person something: it starts again with the answer. No `Exception`, for the same reason."""
