"""JSON into dataclasses, strictly."""

from dataclasses import dataclass
from typing import Any

import pytest

from bv_search.store.strict import Mismatch, decode


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
