"""Targets: what a record says is right, read strictly. None means that nobody has said."""

import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from bv_search.document import Unreadable, load_json
from bv_search.tasks.row import Answer

NEARBY = 2  # characters by which published answers are known to be misplaced


class TargetError(ValueError):
    """What was expected and what was found; the caller knows the place."""

    def __init__(self, what: str, expected: str, found: object) -> None:
        super().__init__(what)
        self.what, self.expected, self.found = what, expected, repr(found)[:80]


def read_label(value: object, labels: Sequence[str]) -> float | None:
    """The number of a class, given by its name or, as official files do, by its number."""
    text = _plain(value)
    named = _numbers(tuple(labels)).get(_meaning(text))
    if named is not None:
        return float(named)
    if text in ("", "-1"):  # the Hub marks hidden labels so
        return None
    numbers = "" if any(map(_is_number, labels)) else f" (or 0 to {len(labels) - 1})"
    raise TargetError("a label is outside the task", f"one of {', '.join(labels)}{numbers}", value)


@lru_cache(maxsize=8)
def _numbers(labels: tuple[str, ...]) -> dict[str | float, int]:
    """Of each class, by what its name means; and by its number, where no number is a name."""
    named = {_meaning(label): number for number, label in reversed(list(enumerate(labels)))}
    if any(isinstance(name, float) for name in named):
        return named
    return named | {float(number): number for number in range(len(labels))}


def _meaning(text: str) -> str | float:
    """Truth and numbers are written in several ways."""
    if _is_number(text):
        return float(text)
    return text.lower() if text.lower() in ("true", "false") else text


def _is_number(text: str) -> bool:
    return re.fullmatch(r"[+-]?[0-9]+([.][0-9]+)?", text) is not None


def _plain(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():  # a nullable column of whole numbers
        return str(int(value))
    text = str(value).strip()
    whole = re.fullmatch(r"([+-]?[0-9]+)[.]0+", text)  # the same column in a CSV
    return whole[1] if whole else text


def read_value(value: object) -> float | None:
    """The value of a regression."""
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        number = math.nan if "_" in str(value) else float(str(value))  # 1_000 is Python's spelling
    except ValueError:
        number = math.nan
    if isinstance(value, bool) or not math.isfinite(number):
        raise TargetError("a value is not a number", "a finite number", value)
    return number


def read_answers(value: object, passage: str) -> tuple[Answer, ...] | None:
    """Answers as SQuAD's files have them (a list of objects) or as the Hub does (an object of lists)."""
    if isinstance(value, str):
        try:
            value = load_json(value) if value.strip() else None
        except Unreadable as error:
            raise TargetError("answers are not JSON", _EXPECTED, value) from error
    if value is None:
        return None
    pairs = _pairs(value)
    if pairs is None:
        raise TargetError("answers are not in SQuAD's form", _EXPECTED, value)
    return tuple(_placed(text, start, passage) for text, start in pairs)


_EXPECTED = '[{"text": …, "answer_start": …}] or {"text": […], "answer_start": […]}'


def _pairs(value: Any) -> list[tuple[str, int]] | None:
    if isinstance(value, Mapping):
        texts, starts = value.get("text"), value.get("answer_start")
        if not isinstance(texts, list) or not isinstance(starts, list) or len(texts) != len(starts):
            return None
        pairs = list(zip(texts, starts, strict=True))
    elif isinstance(value, list) and all(isinstance(each, Mapping) for each in value):
        pairs = [(each.get("text"), each.get("answer_start")) for each in value]
    else:
        return None
    good = all(isinstance(text, str) and type(start) is int for text, start in pairs)
    return pairs if good else None


def _placed(text: str, start: int, passage: str) -> Answer:
    if not text.strip():
        raise TargetError("an answer is empty", "a text of the passage", text)
    if start < 0 or not passage.startswith(text, start):
        near = passage.find(text, max(0, start - NEARBY), max(0, start + NEARBY) + len(text))
        if near < 0:
            found = passage[max(0, start) :][: len(text)]
            raise TargetError("an answer does not stand in its passage", f"{text!r} at {start}", found)
        start = near
    return Answer(text=text, start=start)
