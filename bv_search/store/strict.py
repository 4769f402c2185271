"""JSON → frozen dataclasses, refusing whatever is absent, unknown or of another type."""

import types
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class Mismatch(Exception):
    """Where a value differs from its type; the caller says what the value was."""

    def __init__(self, path: str, expected: str, found: object) -> None:
        self.path, self.expected, self.found = path, expected, found
        super().__init__(f"{path}: expected {expected}, found {found!r}")


def decode(kind: type[T], value: Any, path: str = "") -> T:
    """`value`, which came from JSON, as a `kind`."""
    result: T = _decode(kind, value, path)
    return result


def _decode(kind: Any, value: Any, path: str) -> Any:
    origin = get_origin(kind)
    if kind is Any:
        return value
    if is_dataclass(kind):
        return _dataclass(kind, value, path)
    if origin in (Union, types.UnionType):
        return _union(kind, value, path)
    if origin is tuple:
        return _tuple(kind, value, path)
    if origin in (dict, Mapping) or kind is dict:
        return _dict(kind, value, path)
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise Mismatch(path, kind.__name__, value)
    return value


def _dataclass(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise Mismatch(path, "an object", value)
    if _strange_keys(kind, value):
        raise Mismatch(path, f"the keys {', '.join(field.name for field in fields(kind))}", ", ".join(value))
    hints = get_type_hints(kind)
    return kind(**{name: _decode(hints[name], item, f"{path}.{name}") for name, item in value.items()})


def _strange_keys(kind: Any, value: Mapping[str, Any]) -> list[str]:
    """Those that a dataclass does not know, and those that it needs and does not find."""
    known = {field.name: field for field in fields(kind)}
    unknown = [name for name in value if name not in known]
    needed = [name for name, field in known.items() if field.default is MISSING and name not in value]
    return unknown + needed


def _union(kind: Any, value: Any, path: str) -> Any:
    """Something or nothing, or one of several dataclasses, told apart by their keys."""
    if value is None and type(None) in get_args(kind):
        return None
    inner = [arg for arg in get_args(kind) if arg is not type(None)]
    named = [arg for arg in inner if is_dataclass(arg) and isinstance(value, dict)]
    fitting = [arg for arg in named if not _strange_keys(arg, value)]
    return _decode((fitting or inner)[0], value, path)


def _tuple(kind: Any, value: Any, path: str) -> Any:
    inner = get_args(kind)
    if not isinstance(value, list) or (inner[-1] is not Ellipsis and len(inner) != len(value)):
        raise Mismatch(path, "a list" if inner[-1] is Ellipsis else f"a list of {len(inner)}", value)
    kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
    return tuple(_decode(k, v, f"{path}[{i}]") for i, (k, v) in enumerate(zip(kinds, value, strict=True)))


def _dict(kind: Any, value: Any, path: str) -> Any:
    if not isinstance(value, dict):
        raise Mismatch(path, "an object", value)
    inner = get_args(kind)[1] if get_args(kind) else Any
    return {name: _decode(inner, item, f"{path}.{name}") for name, item in value.items()}
