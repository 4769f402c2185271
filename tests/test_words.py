"""What a word of the command line means, and what is said of one that means nothing."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from bv_search.words import (
    WrongWord,
    duration,
    fraction,
    integer,
    names,
    number,
    numbers,
    positive_int,
    positive_number,
    score,
    size,
    spell_size,
    whole_number,
    yes_or_no,
)


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "x"])
def test_a_count_is_a_whole_number_above_zero(text: str) -> None:
    with pytest.raises(WrongWord):
        positive_int(text)


@pytest.mark.parametrize("text", ["0", "1.01", "-0.5", "nan", "inf", "x"])
def test_a_fraction_is_above_zero_and_up_to_one(text: str) -> None:
    with pytest.raises(WrongWord):
        fraction(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("2GB", 2_000_000_000), ("512MB", 512_000_000), ("1.5 GiB", 3 << 29), ("64kib", 1 << 16), ("100B", 100)],
)
def test_a_size_has_a_unit(text: str, expected: int) -> None:
    assert size(text) == expected


@pytest.mark.parametrize("text", ["2", "0GB", "-1GB", "GB", "2 gigabytes", "nan"])
def test_a_size_without_one_is_refused(text: str) -> None:
    with pytest.raises(WrongWord, match=re.escape(text)):
        size(text)


@pytest.mark.parametrize("text", ["9" * 400 + "GB", "1e400GB"])
def test_a_size_beyond_all_disks_is_refused(text: str) -> None:
    with pytest.raises(WrongWord, match="GB"):
        size(text)


@pytest.mark.parametrize(
    ("count", "said"),
    [(1, "1B"), (999, "999B"), (1_000, "1kB"), (3_100_000_000, "3.1GB"), (134_217_728, "134.217728MB")],
)
def test_a_size_is_spelled_as_it_is_read(count: int, said: str) -> None:
    assert spell_size(count) == said
    assert size(said) == count


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (integer, "-3", -3),
        (whole_number, "0", 0),
        (positive_int, "12", 12),
        (number, "2e-5", 2e-5),
        (positive_number, "0.5", 0.5),
        (fraction, "1", 1.0),
        (score, "-0.2", -0.2),
        (duration, "1.5h", 5400.0),
        (duration, "90s", 90.0),
        (numbers, "0,0.3,2", (0.0, 0.3, 2.0)),
        (numbers, "0.2..0.5", (0.2, 0.3, 0.4, 0.5)),
        (names, "curve,heads", ("curve", "heads")),
        (yes_or_no, "no", False),
    ],
)
def test_a_word_means_a_value(read: Callable[[str], Any], text: str, value: object) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("read", "text", "expected"),
    [
        (integer, "1.5", "a whole number"),
        (whole_number, "-1", "a whole number, 0 or above"),
        (positive_int, "0", "a whole number above zero"),
        (number, "few", "a number"),
        (positive_number, "inf", "a number above 0"),
        (fraction, "1.5", "a number above 0 and up to 1"),
        (score, "nan", "a score such as 0.85"),
        (duration, "2 days", "a time such as 90s, 30m or 2h"),
        (numbers, "a third", "numbers with commas, such as 0.3,1,2, or tenths, such as 0.1..1"),
        (numbers, "0..inf", "numbers with commas, such as 0.3,1,2, or tenths, such as 0.1..1"),
        (size, "2", "a size such as 512MB or 2GB"),
        (yes_or_no, "maybe", "yes or no"),
    ],
)
def test_a_word_that_means_nothing_is_told_what_was_expected(
    read: Callable[[str], Any], text: str, expected: str
) -> None:
    with pytest.raises(WrongWord, match=re.escape(f"expected {expected}; found {text!r}")):
        read(text)
