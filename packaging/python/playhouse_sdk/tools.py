"""Functions as tools."""

from __future__ import annotations

import atexit
import inspect
import os
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, overload

from playhouse_sdk.declaration import Parameter, build, parameters_of, response_of, summary_of
from playhouse_sdk.errors import Asks, Cancelled

F = TypeVar("F", bound=Callable[..., Any])

#: The attribute of a function that holds its tool.
_TOOL = "__playhouse_tool__"

#: All tools, in the order in which they were declared.
declared: list[Tool] = []


class Answer(TypedDict):
    """What a person was asked, and has answered."""

    question: str
    answer: bool | str


@dataclass
class Call:
    """The call that a tool works on. A tool that has a parameter of this type is given it.

    Attributes:
        id: The same for every attempt of one call: a tool that keeps it does its work once.
        config: The plugin's `config`.
        working_directory: The folder of the program's files.
        question: What this attempt asks a person; None: nothing yet.
    """

    id: str
    config: Mapping[str, Any]
    working_directory: Path
    _tell: Callable[[str], None]
    _cancelled: threading.Event = field(default_factory=threading.Event)
    #: What people have answered in earlier attempts, without what this attempt has used.
    _answers: list[Answer] = field(default_factory=list[Answer])
    question: str | None = None

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits any more. A tool that works on regardless is stopped after two seconds."""
        return self._cancelled.is_set()

    def progress(self, text: str) -> None:
        """Tells what the tool is doing. Ends the tool (by `Cancelled`) if nobody waits any more."""
        if self.cancelled:
            raise Cancelled
        self._tell(text)

    def ask(self, question: str) -> bool | str:
        """Asks a person, and gives the answer: True or False for a plain yes or no, otherwise the person's words.

        Ask before you change anything: the function starts again from its top with the answer, also after a restart.
        Until the answer is there, `ask` ends the function (by `Asks`). An answer belongs to its question, word for word:
        a question that has not been asked before is asked, and one that comes twice is asked twice.
        """
        if self.cancelled:
            raise Cancelled
        visible = _visible(question)
        for i, answer in enumerate(self._answers):
            if _is_shown(visible, answer["question"]):
                del self._answers[i]
                return answer["answer"]
        # Of several that are asked at the same time, the first one is.
        self.question = self.question or question
        raise Asks


@dataclass(frozen=True)
class Tool:
    """A function that programs can call, and what is declared of it."""

    function: Callable[..., Any]
    name: str
    parameters: list[Parameter]
    #: The parameter that is given the `Call`.
    wants_call: str | None
    #: Its entry under `commands`.
    declaration: dict[str, Any]

    def arguments(self, param: Mapping[str, Any], call: Call) -> dict[str, Any]:
        """The arguments of the function. What was left out is its default, or None."""
        given: dict[str, Any] = {self.wants_call: call} if self.wants_call else {}
        for parameter in self.parameters:
            if parameter.name in param or not parameter.has_default:
                given[parameter.name] = build(parameter.hint, param.get(parameter.name))
        return given


@overload
def tool(function: F, /) -> F: ...


@overload
def tool(
    *,
    name: str | None = None,
    read_only: bool = False,
    idempotent: bool = False,
    approval: Literal["never", "writes", "ask"] = "never",
    timeout: float | None = None,
    concurrency: int | None = None,
    secret: bool = False,
) -> Callable[[F], F]: ...


def tool(function: F | None = None, /, **options: Any) -> F | Callable[[F], F]:
    """Makes a tool of a function, which stays as it is. The docstring and the types are its declaration.

    Args:
        name: What programs call it; the function's own name if it is left out.
        read_only: It changes nothing. Playhouse may call it again if something goes wrong.
        idempotent: Called twice, it does the same as called once. Playhouse may call it again, too.
        approval: Whether a person is asked before a call.
        timeout: How many seconds a call may take; 60 if it is left out.
        concurrency: How many calls may run at a time.
        secret: The result is shown to nobody but the program.
    """

    def made(function: F) -> F:
        one = _make(function, **options)
        if not declared and sys.argv[1:] == ["declare"] and function.__module__ == "__main__":
            atexit.register(tell_missing_run)
        setattr(function, _TOOL, one)
        declared.append(one)
        return function

    return made(function) if function is not None else made


def tool_of(function: Callable[..., Any]) -> Tool:
    """The tool of a function; one that is not declared has no options."""
    found = getattr(function, _TOOL, None)
    return found if isinstance(found, Tool) else _make(function)


def tell_missing_run() -> None:
    """What `declare` says at the end of a file that has not called `run`."""
    if hasattr(sys, "last_value"):
        # It has ended by an exception, which was shown.
        return
    print(f"{sys.argv[0]} does not call `run()`, so nothing is declared; call it at the end", file=sys.stderr, flush=True)
    os._exit(1)


def tools_of(functions: Iterable[Callable[..., Any]]) -> list[Tool]:
    """The tools of functions that make a plugin.

    Raises:
        ValueError: They make none.
    """
    return checked([tool_of(function) for function in functions])


def checked(tools: list[Tool]) -> list[Tool]:
    """The same tools, if they can be those of a plugin.

    Raises:
        ValueError: There is none, or two have one name.
    """
    if not tools:
        raise ValueError("there are no tools; put `@tool` above a function")
    names = [tool.name for tool in tools]
    for tool in tools:
        if names.count(tool.name) > 1:
            raise ValueError(f"two tools are called `{tool.name}`; give one of them another `name`")
    return tools


def _is_shown(visible: str, shown: str) -> bool:
    """Whether a question is the one that people were shown, where secrets are masked."""
    parts = [re.escape(_visible(part)) for part in shown.split("***")]
    return re.fullmatch(".*".join(parts), visible) is not None


def _visible(text: str) -> str:
    return "".join(character for character in text if character.isprintable() and character != " ")


def _make(
    function: Callable[..., Any],
    name: str | None = None,
    read_only: bool = False,
    idempotent: bool = False,
    approval: str = "never",
    timeout: float | None = None,
    concurrency: int | None = None,
    secret: bool = False,
) -> Tool:
    if read_only and idempotent:
        raise ValueError(f"{function.__name__}: a tool that is `read_only` is idempotent anyway; leave one of them out")
    name = name or function.__name__
    if next(iter(inspect.signature(function).parameters), "") in ("self", "cls"):
        raise TypeError(
            f"{function.__qualname__}: `@tool` is for functions, and no program can pass an object; "
            f"hand the method of one to `run`, as in `run(thing.{function.__name__})`"
        )
    parameters, wants_call = parameters_of(function, Call)
    declaration: dict[str, Any] = {"command_name": name}
    summary = summary_of(function)
    if summary:
        declaration["description"] = summary
    declaration["effect"] = "read_only" if read_only else "idempotent" if idempotent else "write"
    if approval != "never":
        declaration["approval"] = approval
    if timeout is not None:
        declaration["timeout"] = timeout
    if concurrency is not None:
        declaration["concurrency"] = concurrency
    if parameters:
        declaration["parameter"] = {"type": {each.name: each.declaration for each in parameters}}
    response = response_of(function, secret=secret)
    if response is not None:
        declaration["response"] = response
    return Tool(function, name, parameters, wants_call, declaration)
