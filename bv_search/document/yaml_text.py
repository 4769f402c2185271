"""YAML within limits, counted before anything is built: a few lines of aliases can mean millions."""

from collections.abc import Hashable
from typing import Any

import yaml

from bv_search.document.limits import DEPTH, DIGITS, NODES, YAML_BYTES, Unreadable

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the one in C is there in all usual builds
_PREFIX = "tag:yaml.org,2002:"
_TAGS = {"!", *(_PREFIX + name for name in ("null", "bool", "int", "float", "str", "seq", "map"))}


class _Loader(_Base):
    """Without days, which are words here, and with every key once."""

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Hashable, Any]:
        keys = [key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)]
        if len(set(keys)) < len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise Unreadable(f"the key {twice[:80]!r} twice", line=_line(node))
        value: dict[Hashable, Any] = super().construct_mapping(node, deep=deep)
        return value

    def construct_yaml_int(self, node: Any) -> int:
        if len(node.value) > DIGITS:
            raise Unreadable(f"a number of {len(node.value)} digits", line=_line(node))
        value: int = super().construct_yaml_int(node)
        return value


class _Words(_Loader):
    """Without truth values too: a label yes is the word, as in a file's column."""


def _without(loader: Any, *tags: str) -> None:
    names = {_PREFIX + tag for tag in tags}
    loader.yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in names]
        for first, resolvers in loader.yaml_implicit_resolvers.items()
    }


_without(_Loader, "timestamp")
_without(_Words, "timestamp", "bool")
_Loader.add_constructor(f"{_PREFIX}int", _Loader.construct_yaml_int)


def load_yaml(data: bytes, *, words: bool = False) -> Any:
    """The value of a YAML text of one document, or Unreadable."""
    if len(data) > YAML_BYTES:
        raise Unreadable(f"{len(data):,} bytes, and at most {YAML_BYTES:,} are read")
    try:
        text = data.decode("utf-8-sig")
        _survey(text)
        value = yaml.load(text, _Words if words else _Loader)  # noqa: S506 - both are safe ones
    except UnicodeDecodeError as error:
        raise Unreadable(f"byte {data[error.start]:#04x} at position {error.start}, no UTF-8") from error
    except yaml.YAMLError as error:
        raise _broken(error) from error
    except Unreadable:
        raise
    except (ValueError, RecursionError) as error:  # a tag on what it does not fit
        raise Unreadable(f"a value that is none: {error}") from error
    return value


def _survey(text: str) -> None:
    """Count values as a loader would build them, and aliases as what they stand for."""
    survey = _Survey()
    for event in yaml.parse(text, _Base):
        if isinstance(event, yaml.CollectionStartEvent):
            survey.begin(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            survey.end()
        elif isinstance(event, yaml.AliasEvent):
            survey.repeat(event)
        elif isinstance(event, yaml.ScalarEvent):
            survey.take(event)


class _Survey:
    def __init__(self) -> None:
        self._open: list[tuple[str | None, int]] = []  # the anchor of each level, and values in it so far
        self._known: dict[str | None, int] = {}  # values that an anchor stands for

    def begin(self, event: Any) -> None:
        _check_tag(event)
        self._open.append((event.anchor, 1))
        if len(self._open) > DEPTH:
            raise Unreadable(f"more than {DEPTH} levels", line=_line(event))

    def end(self) -> None:
        self._add(*self._open.pop())

    def repeat(self, event: Any) -> None:
        if any(anchor == event.anchor for anchor, _ in self._open):
            raise Unreadable(f"&{event.anchor}, which holds itself", line=_line(event))
        self._add(None, self._known.get(event.anchor, 1))  # one that is nowhere is said by the loader

    def take(self, event: Any) -> None:
        _check_tag(event)
        _check_characters(event)
        self._add(event.anchor, 1)

    def _add(self, anchor: str | None, values: int) -> None:
        if anchor is not None:
            self._known[anchor] = values
        if self._open:
            above, before = self._open[-1]
            values += before
            self._open[-1] = above, values
        if values > NODES:
            raise Unreadable(f"more than {NODES:,} values, aliases counted as what they stand for")


def _check_characters(event: Any) -> None:
    try:
        event.value.encode()
    except UnicodeEncodeError as error:
        half = ascii(event.value[error.start])
        raise Unreadable(f"half a character, {half}", line=_line(event)) from error


def _check_tag(event: Any) -> None:
    if event.tag is not None and event.tag not in _TAGS:
        raise Unreadable(f"the tag {event.tag[:80]}", line=_line(event))


def _line(node: Any) -> int:
    return int(node.start_mark.line) + 1


def _broken(error: yaml.YAMLError) -> Unreadable:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "something else"
    return Unreadable(problem, line=mark.line + 1 if mark else None)
