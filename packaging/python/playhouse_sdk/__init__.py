"""Playhouse from Python: tools, clients of its server, sessions in scripts and notebooks."""

from typing import TYPE_CHECKING, Any

from playhouse_sdk.binary import find_binary
from playhouse_sdk.core import Answered, Approval, OpenApproval, SessionInfo, SessionPage, Taken
from playhouse_sdk.declaration import Accepts, Secret
from playhouse_sdk.errors import Asks, Cancelled, PlayhouseError, Problem, ProgramFailed, ToolError, Unreachable
from playhouse_sdk.events import Event
from playhouse_sdk.plugin import run
from playhouse_sdk.reply import Reply
from playhouse_sdk.session import Session
from playhouse_sdk.tools import Call, Tool, tool

if TYPE_CHECKING:
    from playhouse_sdk.client import AsyncClient, Client

__all__ = [
    "Accepts",
    "Answered",
    "Approval",
    "Asks",
    "AsyncClient",
    "Call",
    "Cancelled",
    "Client",
    "Event",
    "OpenApproval",
    "PlayhouseError",
    "Problem",
    "ProgramFailed",
    "Reply",
    "Secret",
    "Session",
    "SessionInfo",
    "SessionPage",
    "Taken",
    "Tool",
    "ToolError",
    "Unreachable",
    "find_binary",
    "run",
    "tool",
]


def __getattr__(name: str) -> Any:
    """The clients, when somebody asks for them: a plugin starts sooner without their HTTP."""
    if name in ("AsyncClient", "Client"):
        from playhouse_sdk import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
