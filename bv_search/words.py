"""A word of the command line → a value, or one line that says what was expected."""

import re
from argparse import ArgumentTypeError
from math import inf, isfinite
from typing import NoReturn

MOST_UNITS = 1e6  # of a time: hours, minutes or seconds
SECONDS = {"s": 1, "m": 60, "h": 3600}


class WrongWord(ArgumentTypeError, ValueError):
    """What an option says is not what it takes."""


def refuse(found: object, expected: str, *, do: str | None = None) -> NoReturn:
    line = f"expected {expected}; found {found!r}"
    raise WrongWord(line if do is None else f"{line}; {do}")


def integer(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        refuse(text, "a whole number")


def whole_number(text: str) -> int:
    return int(text) if text.isdecimal() else refuse(text, "a whole number, 0 or above")


def positive_int(text: str) -> int:
    return int(text) if text.isdecimal() and int(text) else refuse(text, "a whole number above zero")


def number(text: str, expected: str = "a number") -> float:
    try:
        return float(text)
    except ValueError:
        refuse(text, expected)


def positive_number(text: str) -> float:
    expected = "a number above 0"
    value = number(text, expected)
    return value if 0.0 < value < inf else refuse(text, expected)


def fraction(text: str) -> float:
    expected = "a number above 0 and up to 1"
    value = number(text, expected)
    return value if 0.0 < value <= 1.0 else refuse(text, expected)


def score(text: str) -> float:
    expected = "a score such as 0.85"
    value = number(text, expected)
    return value if isfinite(value) else refuse(text, expected)


def numbers(text: str) -> tuple[float, ...]:
    """Some of them, or tenths."""
    low, dots, high = text.partition("..")
    try:
        if dots:
            return tuple(tenth / 10 for tenth in range(round(float(low) * 10), round(float(high) * 10) + 1))
        return tuple(float(part) for part in text.split(","))
    except (ValueError, OverflowError):
        refuse(text, "numbers with commas, such as 0.3,1,2, or tenths, such as 0.1..1")


def size(text: str) -> int:
    """Bytes, wherever an option, a setting or a page speaks of them."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?) ?([kMGT]?)(i?)B", text, re.IGNORECASE)
    if match is None or not 0 < float(match[1]) < 1e15:
        refuse(text, "a size such as 512MB or 2GB")
    power = " kmgt".index(match[2].lower() or " ")
    return round(float(match[1]) * float(1024 if match[3] else 1000) ** power)


def spell_size(count: int) -> str:
    """The other way, to the byte."""
    power = min((len(str(count)) - 1) // 3, 4)
    return f"{count / 1000**power:.15g}{' kMGT'[power].strip()}B"


def duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if match is None or not 0 < float(match[1]) <= MOST_UNITS:
        refuse(text, "a time such as 90s, 30m or 2h")
    return float(match[1]) * SECONDS[match[2]]


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def yes_or_no(text: str) -> bool:
    return text == "yes" if text in ("yes", "no") else refuse(text, "yes or no")
