"""What a head's settings may be, and what it is called."""

from typing import Any

import pytest

from bv_search.errors import HeadError
from bv_search.heads.config import (
    AdapterHead,
    AttentionHead,
    HeadConfig,
    NgramHead,
    PoolingHead,
    head_from_json,
)


def test_a_name_tells_which_tokens_answer() -> None:
    names = [PoolingHead(readout=each).name for each in ("first", "last", "mean", "max")]
    assert names == [
        "learned pooling",
        "learned pooling, last token",
        "learned pooling, mean of tokens",
        "learned pooling, maximum of tokens",
    ]


@pytest.mark.parametrize(
    ("config", "reads"),
    [
        (PoolingHead(), False),
        (PoolingHead(readout="last"), True),
        (NgramHead(), True),
        (NgramHead(along="features"), False),
        (AttentionHead(), True),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_one_token_a_window_is_enough_or_not(config: HeadConfig, reads: bool) -> None:
    assert config.reads_all_tokens is reads


def test_json_says_the_kind_and_every_setting() -> None:
    config = AdapterHead(size=3, skip=True, readout="mean")
    value = config.to_json()
    assert value == {"kind": "adapter", "size": 3, "shared": True, "skip": True, "readout": "mean"}
    assert head_from_json(value) == config


@pytest.mark.parametrize("size", [0, -1, 2.0, True, "3", None])
def test_a_size_is_a_whole_number_from_1_on(size: Any) -> None:
    with pytest.raises(HeadError, match=r"adapter head: bad size; expected (int|1 or more)"):
        AdapterHead(size=size)


@pytest.mark.parametrize(
    ("kind", "name"), [("cnn", "depth"), ("ngram", "longest"), ("xception-mod", "blocks")]
)
def test_what_is_made_one_by_one_has_an_end(kind: str, name: str) -> None:
    assert head_from_json({"kind": kind, name: 1000}).to_json()[name] == 1000
    with pytest.raises(HeadError, match=f"{kind} head: bad {name}; expected at most 1,000; found 1001"):
        head_from_json({"kind": kind, name: 1001})
