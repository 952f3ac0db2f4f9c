"""A function's signature and docstring as the declaration of a command, and values between JSON and Python."""

from __future__ import annotations

import collections.abc
import dataclasses
import inspect
import json
import re
import sys
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

Source = Literal["user", "code", "argument", "model", "tool", "event"]


class Accepts:
    """In `Annotated[str, Accepts("user", "code")]`: where the values of a parameter may come from."""

    def __init__(self, *sources: Source) -> None:
        self.sources = sources


class _SecretMark:
    pass


#: `Secret[str]`: a result, or a field of one, that nobody but the program is shown.
Secret = Annotated[T, _SecretMark()]

_SIMPLE = {str: "string", int: "int", float: "float", bool: "bool", list: "List", dict: "Dict", Any: "Any", object: "Any"}
_LISTS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_MAPS = (dict, collections.abc.Mapping)


#: What Playhouse reads for sure.
_DEEPEST = 100


@dataclasses.dataclass(frozen=True)
class Parameter:
    """One parameter of a tool."""

    name: str
    hint: Any
    has_default: bool
    declaration: dict[str, Any]


def parameters_of(function: Callable[..., Any], skipped: type) -> tuple[list[Parameter], str | None]:
    """The parameters, and the name of the one whose type is `skipped`, if there is one."""
    hints = get_type_hints(function, include_extras=True)
    texts = parameter_texts(function)
    found, injected = [], None
    for name, parameter in inspect.signature(function).parameters.items():
        hint = hints.get(name, Any)
        if hint is skipped:
            injected = name
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"{function.__name__}: `{parameter}` has no name that a program could use; name each parameter")
        has_default = parameter.default is not parameter.empty
        with _about(f"{function.__name__}, parameter `{name}`"):
            declared = describe(hint)
        text = " ".join(filter(None, [declared.get("description"), texts.get(name)]))
        if has_default and parameter.default is not None:
            text = f"{text} (default: {json.dumps(plain(parameter.default), ensure_ascii=False)})".strip()
        if text:
            declared["description"] = text
        if has_default:
            declared["required"] = False
        found.append(Parameter(name, hint, has_default, declared))
    return found, injected


def response_of(function: Callable[..., Any], *, secret: bool) -> dict[str, Any] | None:
    """What the function gives back; None: nothing is said of it."""
    hint = get_type_hints(function, include_extras=True).get("return", Any)
    if hint in (Any, type(None)) and not secret:
        return None
    with _about(f"{function.__name__}, result"):
        declared = describe(hint)
    return {**declared, "secret": True} if secret else declared


def summary_of(function: Callable[..., Any]) -> str:
    """The first paragraph of the docstring, in one line."""
    return " ".join((inspect.getdoc(function) or "").split("\n\n")[0].split())


def parameter_texts(function: Callable[..., Any]) -> dict[str, str]:
    """What the docstring says of parameters below `Args:`."""
    _, _, section = (inspect.getdoc(function) or "").partition("Args:\n")
    texts: dict[str, str] = {}
    name = None
    for line in section.splitlines():
        if line and not line.startswith(" "):
            break
        begins = re.match(r" {2,4}(\w+)(?: \([^)]*\))?: *(.*)", line)
        if begins:
            name = begins[1]
            texts[name] = begins[2]
        elif name and line.strip():
            texts[name] += f" {line.strip()}"
    return texts


def describe(hint: Any, around: tuple[Any, ...] = ()) -> dict[str, Any]:
    """What is declared of a value of this type. `around`: the types that it is a part of."""
    hint, declared = _unwrapped(hint)
    choices = _choices(hint)
    if choices is not None:
        kinds = {_SIMPLE.get(type(choice), "Any") for choice in choices}
        return {"type": kinds.pop() if len(kinds) == 1 else "Any", "enum": choices, **declared}
    fields = fields_of(hint) if hint not in around else None
    if fields:
        return {"type": {name: describe(field, (*around, hint)) for name, field in fields.items()}, **declared}
    if get_origin(hint) in _LISTS and get_args(hint):
        element, of_element = _unwrapped(get_args(hint)[0])
        fields = fields_of(element) if element not in around and not of_element else None
        if fields:
            inner = (*around, element)
            return {"type": [{"name": name, **describe(field, inner)} for name, field in fields.items()], **declared}
    return {"type": _in_words(hint), **declared}


def fields_of(hint: Any) -> dict[str, Any] | None:
    """The fields of a dataclass or TypedDict with their types. Those that may be left out are optional there."""
    if not isinstance(hint, type):
        return None
    if dataclasses.is_dataclass(hint):
        hints = get_type_hints(hint, include_extras=True)
        return {field.name: hints[field.name] if _is_needed(field) else Union[hints[field.name], None] for field in dataclasses.fields(hint)}
    if typing.is_typeddict(hint):
        needed: frozenset[str] = getattr(hint, "__required_keys__", frozenset())
        hints = get_type_hints(hint, include_extras=True)
        return {name: field if name in needed else Union[_bare(field), None] for name, field in hints.items()}
    return None


def build(hint: Any, value: Any) -> Any:
    """JSON as a value of this type: maps become dataclasses, wherever they stand."""
    hint, _ = _unwrapped(hint)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type) and isinstance(value, dict):
        hints = get_type_hints(hint, include_extras=True)
        given = {}
        for field in dataclasses.fields(hint):
            if field.name in value or _is_needed(field):
                given[field.name] = build(hints[field.name], value.get(field.name))
        return hint(**given)
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in _LISTS and arguments and isinstance(value, list):
        return [build(arguments[0], item) for item in value]
    if origin in _MAPS and len(arguments) == 2 and isinstance(value, dict):
        return {key: build(arguments[1], item) for key, item in value.items()}
    if typing.is_typeddict(hint) and isinstance(value, dict):
        hints = get_type_hints(hint, include_extras=True)
        return {key: build(hints.get(key, Any), item) for key, item in value.items()}
    if origin in (Union, types.UnionType):
        for alternative in arguments:
            if _fits(alternative, value):
                return build(alternative, value)
    return value


def _fits(hint: Any, value: Any) -> bool:
    """Whether JSON is a value of this type."""
    hint, declared = _unwrapped(hint)
    if hint in (Any, object) or value is None:
        return hint in (Any, object, type(None)) or declared.get("required") is False
    fields, choices, origin, arguments = fields_of(hint), _choices(hint), get_origin(hint), get_args(hint)
    if choices is not None:
        return value in choices
    if origin in (Union, types.UnionType):
        return any(_fits(alternative, value) for alternative in arguments)
    if fields is not None:
        is_known = isinstance(value, dict) and value.keys() <= fields.keys()
        return is_known and all(_fits(field, value.get(name)) for name, field in fields.items())
    if origin in _LISTS or hint in _LISTS:
        return isinstance(value, list) and all(_fits(each, item) for each in arguments[:1] for item in value)
    if origin in _MAPS or hint in _MAPS:
        return isinstance(value, dict) and all(_fits(each, item) for each in arguments[1:] for item in value.values())
    if isinstance(value, bool) or hint is bool:
        return isinstance(value, bool) and hint is bool
    return isinstance(value, (int, float) if hint is float else hint)


def plain(value: Any, depth: int = 0) -> Any:
    """A value as JSON knows it: dataclasses become maps, wherever they stand.

    Raises:
        ValueError: Playhouse could not read it.
    """
    if depth > _DEEPEST:
        raise ValueError(f"lists and maps are nested deeper than {_DEEPEST} levels")
    if isinstance(value, int) and abs(value) > sys.float_info.max:
        raise ValueError("an integer is too large for JSON; return it as text")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: plain(getattr(value, field.name), depth + 1) for field in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {key: plain(item, depth + 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, depth + 1) for item in value]
    return value


def yaml(value: Any, indent: int = 0) -> str:
    """Maps and lists as lines of YAML; everything else stands as JSON, which YAML contains."""
    space = " " * indent
    lines = []
    if isinstance(value, Mapping):
        for key, item in value.items():
            key = key if re.fullmatch(r"[A-Za-z_][\w-]*", key) else _json(key)
            is_block = isinstance(item, (Mapping, list)) and item and not _is_flat(item)
            lines.append(f"{space}{key}:\n{yaml(item, indent + 2)}" if is_block else f"{space}{key}: {_json(item)}\n")
    else:
        for item in value:
            lines.append(f"{space}- {yaml(item, indent + 2).lstrip()}" if not _is_flat(item) else f"{space}- {_json(item)}\n")
    return "".join(lines)


def _is_flat(value: Any) -> bool:
    return not isinstance(value, Mapping) and not (isinstance(value, list) and any(isinstance(item, Mapping) for item in value))


def _json(value: Any) -> str:
    is_word = isinstance(value, str) and re.fullmatch(r"[A-Za-z_]\w*", value)
    if is_word and value.lower() not in ("true", "false", "null", "yes", "no", "on", "off", "y", "n"):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def _bare(hint: Any) -> Any:
    """Without the `Required` or `NotRequired` of a TypedDict."""
    name = getattr(get_origin(hint), "_name", None)
    return get_args(hint)[0] if name in ("Required", "NotRequired") else hint


def _unwrapped(hint: Any) -> tuple[Any, dict[str, Any]]:
    """The type inside `Annotated` and `Optional`, and what those say."""
    declared: dict[str, Any] = {}
    while True:
        hint = _bare(hint)
        if get_origin(hint) is Annotated:
            hint, *notes = get_args(hint)
            for note in notes:
                if isinstance(note, str):
                    declared["description"] = note
                elif isinstance(note, Accepts):
                    declared["accepts"] = list(note.sources)
                elif isinstance(note, _SecretMark):
                    declared["secret"] = True
            continue
        if get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
            others = tuple(each for each in get_args(hint) if each is not type(None))
            declared["required"] = False
            hint = Union[others]
            continue
        return hint, declared


def _choices(hint: Any) -> list[Any] | None:
    return list(get_args(hint)) if get_origin(hint) is Literal else None


def _in_words(hint: Any) -> str:
    """A type in one line. Maps with fields that stand inside other types are maps with any fields."""
    if hint in _SIMPLE:
        return _SIMPLE[hint]
    if hint is type(None):
        return "None"
    bare, declared = _unwrapped(hint)
    if bare is not hint:
        return f"Optional[{_in_words(bare)}]" if declared.get("required") is False else _in_words(bare)
    origin, arguments = get_origin(hint), get_args(hint)
    choices = _choices(hint)
    if choices is not None or fields_of(hint) is not None:
        return describe(hint)["type"] if choices is not None else "Dict"
    if origin in (Union, types.UnionType):
        return f"Union[{', '.join(map(_in_words, arguments))}]"
    if hint in _LISTS or hint in _MAPS:
        return "List" if hint in _LISTS else "Dict"
    if origin in _LISTS:
        return "List" if arguments[0] in (Any, object) else f"List[{_in_words(arguments[0])}]"
    if origin in _MAPS and arguments[0] is str:
        return "Dict" if arguments[1] in (Any, object) else f"Dict[str, {_in_words(arguments[1])}]"
    raise TypeError(f"a program cannot pass a {hint}; use str, int, float, bool, list, dict, Literal, a dataclass or a TypedDict")


class _about:
    """Says in a TypeError what it is about."""

    def __init__(self, what: str) -> None:
        self.what = what

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, TypeError):
            raise TypeError(f"{self.what}: {error}") from None
