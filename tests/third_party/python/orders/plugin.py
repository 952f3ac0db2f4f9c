"""One tool for each thing that a declaration can say."""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, Optional, TypedDict

from playhouse_sdk import Accepts, Call, Secret, ToolError, run, tool


ORDERS: dict[str, Any] = {}


@dataclass
class Line:
    item: str
    count: int = 1


@dataclass
class Order:
    id: Annotated[str, "As it stands on the receipt"]
    lines: list[Line] = field(default_factory=list)
    note: Optional[str] = None


class Place(TypedDict):
    city: str
    postcode: Optional[str]


@dataclass
class Receipt:
    total: int
    code: Secret[str]


@tool(read_only=True)
def count(order: Order, sizes: dict[str, int], tags: list[str] = [], weight: float = 1.5) -> int:
    """Counts what
    is in an order.

    All of it.

    Args:
        order: What somebody wants
            to have.
        sizes (dict): How much of each.
    """
    return sum(line.count for line in order.lines) + sum(sizes.values())


@tool(name="send", timeout=5, concurrency=2, approval="writes")
def send_to(
    place: Place, by: Literal["post", "bike"], account: Annotated[str, Accepts("user", "code")], extra: Any = None
) -> dict[str, Any]:
    return {"city": place["city"], "postcode": place.get("postcode"), "by": by, "account": account}


@tool
def pay(cents: int) -> Receipt:
    """Pays."""
    return Receipt(cents, "code-4711")


@tool(secret=True)
def password() -> str:
    return "open sesame"


@tool(idempotent=True)
def greet(call: Call, name: str | int) -> str:
    print("what a tool prints is no message")
    os.system("echo what its processes print is none either")
    return f"{call.config.get('greeting', 'Hello')}, {name}! {call.id} {call.working_directory.name}"


@tool
async def together(n: int) -> list[int]:
    """Does several things at once."""
    return list(await asyncio.gather(*(_later(i) for i in range(n))))


async def _later(i: int) -> int:
    await asyncio.sleep(0)
    return i


@tool
async def wait(call: Call) -> str:
    call.progress("waiting")
    await asyncio.Event().wait()
    return "never"


@tool(timeout=1)
async def late(call: Call) -> str:
    try:
        await asyncio.Event().wait()
    finally:
        call.working_directory.joinpath("cancelled").touch()
    return "never"


@tool(idempotent=True)
def twice(call: Call) -> str:
    seen = call.working_directory / "seen"
    if not seen.exists():
        seen.touch()
        raise ToolError("the bank is busy", retry=True)
    return "done at last"


@tool
def process() -> int:
    return os.getpid()


@tool
def fail(kind: Literal["known", "unknown", "unwritable", "surrogate", "huge", "endless", "exit", "quoting"]) -> Any:
    if kind == "known":
        raise ToolError("there is no such order", "4711")
    if kind == "surrogate":
        return "half of an emoji: \ud83d"
    if kind == "huge":
        return 10**400
    if kind == "endless":
        inside: list[Any] = []
        inside.append(inside)
        return inside
    if kind == "exit":
        raise SystemExit(3)
    if kind == "quoting":
        raise ToolError("no order \ud83d", "\ud83d")
    return ORDERS["4711"] if kind == "unknown" else object()


if __name__ == "__main__":
    run()
