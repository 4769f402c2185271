"""A shape is read strictly."""

from dataclasses import asdict
from typing import Any

import pytest

from bv_search.errors import HeadError
from bv_search.files import decode_at
from bv_search.heads.config import HeadShape

SHAPE = HeadShape(layers=25, width=1024, outputs=2, per_token=True)


def test_it_is_said_as_layers_by_width() -> None:
    assert str(SHAPE) == "25x1024"


def test_it_comes_back_from_json() -> None:
    assert decode_at(HeadShape, asdict(SHAPE), HeadError, where="here") == SHAPE


@pytest.mark.parametrize("change", [{"layers": 0}, {"width": -1}, {"outputs": 2.0}, {"tokens": 0}])
def test_no_size_of_it_is_below_1(change: dict[str, Any]) -> None:
    (name,) = change
    with pytest.raises(HeadError, match=name):
        decode_at(HeadShape, asdict(SHAPE) | change, HeadError, where="here")
