"""Poolings: what each pools by is in its name."""

import pytest

from bv_search.errors import HeadError
from bv_search.heads.config import AttentionHead, GatedPoolingHead, PoolingHead


def test_names_say_how_layers_and_tokens_are_pooled() -> None:
    assert PoolingHead(pooling="average").name == "average pooling"
    assert GatedPoolingHead().name == "gated pooling"
    assert AttentionHead().name == "learned pooling, attention of 1 query"
    assert AttentionHead(pooling="average", queries=3, position_bias=True).name == (
        "average pooling, attention of 3 queries by position"
    )


def test_attention_reads_all_tokens_and_by_no_readout_but_its_own() -> None:
    assert AttentionHead().reads_all_tokens
    assert AttentionHead.for_windows
    with pytest.raises(HeadError, match="attention head: bad readout"):
        AttentionHead(readout="mean")  # type: ignore[arg-type]


def test_pooling_is_learned_or_the_average() -> None:
    with pytest.raises(HeadError, match=r"bad pooling; expected \('learned', 'average'\); found 'max'"):
        PoolingHead(pooling="max")  # type: ignore[arg-type]
