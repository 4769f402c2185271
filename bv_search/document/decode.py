"""Values of documents → frozen dataclasses: nothing absent, unknown, of another type or out of range."""

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


@dataclass(frozen=True)
class Range:
    """What a value must be beyond its type."""

    said: str
    holds: Callable[[Any], bool]


def one_of(*names: str) -> Range:
    return Range(" or ".join(names), lambda value: value in names)


Count = Annotated[int, Range("a whole number, 0 or above", lambda value: value >= 0)]
Positive = Annotated[int, Range("a whole number above 0", lambda value: value > 0)]
Number = Annotated[float, Range("a number, 0 or above", lambda value: value >= 0)]
Share = Annotated[float, Range("a number above 0 and up to 1", lambda value: 0 < value <= 1)]
Text = Annotated[str, Range("a text", lambda value: value != "" and "\0" not in value)]


class Mismatch(Exception):
    """Where a value differs from its type; the caller says what the value was."""

    def __init__(self, path: str, expected: str, found: object) -> None:
        self.path, self.expected, self.found = path, expected, found
        super().__init__(f"{path}: expected {expected}, found {found!r}")


def decode(kind: type[T], value: Any, path: str = "", *, more: bool = False) -> T:
    """`value`, which came from a document, as a `kind`. With `more` it may have keys that nobody knows."""
    result: T = _decode(kind, value, path, more)
    return result


def _decode(kind: Any, value: Any, path: str, more: bool) -> Any:
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _dataclass(kind, value, path, more)
    build = _BUILDERS.get(get_origin(kind) or kind)
    if build is not None:
        return build(kind, value, path, more)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind or (kind is float and not math.isfinite(value)):
        raise Mismatch(path, kind.__name__, value)
    return value


def _ranged(kind: Any, value: Any, path: str, more: bool) -> Any:
    plain, ranged = get_args(kind)
    try:
        decoded = _decode(plain, value, path, more)
    except Mismatch as mismatch:
        if mismatch.path != path:  # of something inside of it
            raise
        decoded = None
    if decoded is None or not ranged.holds(decoded):
        raise Mismatch(path, ranged.said, value)
    return decoded


def _literal(kind: Any, value: Any, path: str, more: bool) -> Any:
    if not any(type(value) is type(each) and value == each for each in get_args(kind)):
        raise Mismatch(path, " or ".join(map(str, get_args(kind))), value)
    return value


def _dataclass(kind: Any, value: Any, path: str, more: bool) -> Any:
    if not isinstance(value, dict):
        raise Mismatch(path, "an object", value)
    unknown, needed = _strange_keys(kind, value)
    if needed or (unknown and not more):
        raise Mismatch(path, f"the keys {', '.join(field.name for field in fields(kind))}", ", ".join(value))
    hints = _hints(kind)
    known = {name: item for name, item in value.items() if name in hints}
    return kind(**{name: _decode(hints[name], item, f"{path}.{name}", more) for name, item in known.items()})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in fields(kind)}


def _strange_keys(kind: Any, value: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Those that a dataclass does not know, and those that it needs and does not find."""
    known = {field.name: field for field in fields(kind)}
    unknown = [name for name in value if name not in known]
    needed = [
        name
        for name, field in known.items()
        if field.default is MISSING and field.default_factory is MISSING and name not in value
    ]
    return unknown, needed


def _union(kind: Any, value: Any, path: str, more: bool) -> Any:
    """Something or nothing, or one of several dataclasses, told apart by their keys."""
    if value is None and type(None) in get_args(kind):
        return None
    inner = [arg for arg in get_args(kind) if arg is not type(None)]
    named = [arg for arg in inner if is_dataclass(arg) and isinstance(value, dict)]
    fitting = [arg for arg in named if not any(_strange_keys(arg, value))]
    return _decode((fitting or inner)[0], value, path, more)


def _tuple(kind: Any, value: Any, path: str, more: bool) -> Any:
    inner = get_args(kind)
    many = inner[-1] is Ellipsis
    if not isinstance(value, list | tuple) or (not many and len(inner) != len(value)):
        raise Mismatch(path, "a list" if many else f"a list of {len(inner)}", value)
    kinds = [inner[0]] * len(value) if many else inner
    return tuple(
        _decode(k, v, f"{path}[{i}]", more) for i, (k, v) in enumerate(zip(kinds, value, strict=True))
    )


def _dict(kind: Any, value: Any, path: str, more: bool) -> Any:
    if not isinstance(value, dict):
        raise Mismatch(path, "an object", value)
    inner = get_args(kind)[1] if get_args(kind) else Any
    return {name: _decode(inner, item, f"{path}.{name}", more) for name, item in value.items()}


_BUILDERS: dict[Any, Callable[[Any, Any, str, bool], Any]] = {
    Annotated: _ranged,
    Literal: _literal,
    Union: _union,
    types.UnionType: _union,
    tuple: _tuple,
    dict: _dict,
    Mapping: _dict,
}
