"""JSON without what its grammar leaves open: keys twice, numbers beyond all numbers, halves of characters."""

import json
import math
import re
from typing import Any, NoReturn

from bv_search.document.limits import DEPTH, DIGITS, Unreadable

_HALF = re.compile(r"\\u[dD][89a-fA-F]")  # may be a half of a character, or one of two that belong together


def load_json(text: str) -> Any:
    """The value of a JSON text, or Unreadable."""
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Unreadable(error.msg, line=error.lineno, column=error.colno, position=error.pos) from error
    except RecursionError as error:
        raise Unreadable(f"more than {DEPTH} levels of brackets") from error
    _check_depth(value)
    if _HALF.search(text):
        _check_characters(value)
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Unreadable(f"the key {twice[:80]!r} twice in one object")
    return value


def _whole(digits: str) -> int:
    if len(digits) > DIGITS:
        raise Unreadable(f"a number of {len(digits)} digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise Unreadable(f"{digits[:40]}, which is beyond all numbers")
    return value


def _refuse(name: str) -> NoReturn:
    raise Unreadable(f"{name}, which is no number of JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique, parse_int=_whole, parse_float=_finite, parse_constant=_refuse
)


def _check_depth(value: Any) -> None:
    level = [value] if type(value) in (dict, list) else []
    for _ in range(DEPTH):
        level = [
            inner
            for each in level
            for inner in (each.values() if type(each) is dict else each)
            if type(inner) in (dict, list)
        ]
        if not level:
            return
    raise Unreadable(f"more than {DEPTH} levels of brackets")


def _check_characters(value: Any) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise Unreadable(f"half a character, {error.object[error.start]!a}") from error
