"""JSON into dataclasses, strictly."""

from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from bv_search.document import Count, Mismatch, Positive, Range, Share, Text, decode, one_of


@dataclass(frozen=True, kw_only=True)
class Inner:
    name: str
    size: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Outer:
    many: tuple[Inner, ...]
    pair: tuple[int, int]
    named: dict[str, Inner]
    maybe: Inner | None = None


GOOD: dict[str, Any] = {"many": [{"name": "a"}], "pair": [1, 2], "named": {"x": {"name": "b", "size": 2}}}


def test_what_fits_is_taken() -> None:
    outer = decode(Outer, GOOD)
    assert outer == Outer(
        many=(Inner(name="a"),), pair=(1, 2), named={"x": Inner(name="b", size=2.0)}, maybe=None
    )


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"pair": [1, "2"]}, ".pair[1]"),
        ({"pair": [1, True]}, ".pair[1]"),
        ({"pair": [1]}, ".pair"),
        ({"many": [{"name": 3}]}, ".many[0].name"),
        ({"many": [{}]}, ".many[0]"),
        ({"named": {"x": None}}, ".named.x"),
        ({"more": 1}, ""),
        ({"maybe": []}, ".maybe"),
    ],
)
def test_what_does_not_fit_is_named_by_its_place(change: dict[str, Any], path: str) -> None:
    with pytest.raises(Mismatch) as caught:
        decode(Outer, {**GOOD, **change})
    assert caught.value.path == path


@dataclass(frozen=True, kw_only=True)
class Ranged:
    count: Count = 0
    above: Positive = 1
    share: Share = 1.0
    text: Text = "a"
    name: Annotated[str, one_of("a", "b")] = "a"
    several: Annotated[tuple[int, ...], Range("one or more", lambda value: len(value) > 0)] = (1,)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"count": -1}, "a whole number, 0 or above"),
        ({"count": True}, "a whole number, 0 or above"),
        ({"count": 1.0}, "a whole number, 0 or above"),
        ({"above": 0}, "a whole number above 0"),
        ({"share": 0}, "a number above 0 and up to 1"),
        ({"share": float("nan")}, "a number above 0 and up to 1"),
        ({"text": ""}, "a text"),
        ({"text": "a\0"}, "a text"),
        ({"name": "c"}, "a or b"),
        ({"several": []}, "one or more"),
    ],
)
def test_what_is_out_of_range_says_what_is_expected(value: dict[str, Any], expected: str) -> None:
    with pytest.raises(Mismatch) as caught:
        decode(Ranged, value)
    assert caught.value.expected == expected


def test_ranges_take_what_they_hold() -> None:
    value = {"count": 0, "above": 1, "share": 1, "text": "x", "name": "b", "several": [1, 2]}
    assert decode(Ranged, value) == Ranged(text="x", name="b", several=(1, 2))


def test_more_keys_are_taken_where_others_may_have_added_some() -> None:
    assert decode(Ranged, {"count": 2, "colour": "red"}, more=True) == Ranged(count=2)
    with pytest.raises(Mismatch):
        decode(Ranged, {"count": 2, "colour": "red"})
