"""Separable convolutions along the tokens, each window by itself."""

import pytest

from bv_search.heads.config import HeadConfig, XceptionModHead
from tests.heads.branches.hearing import tokens_that_matter


@pytest.mark.parametrize(
    ("config", "token", "expected"),
    [
        (XceptionModHead(size=6, channels=16, blocks=1), 4, list(range(9))),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else str(value),
)
def test_a_token_hears_its_neighbours_and_no_other_window(
    config: HeadConfig, token: int, expected: list[int]
) -> None:
    assert tokens_that_matter(config, token) == expected
