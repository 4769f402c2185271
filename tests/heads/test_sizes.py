"""The exact sizes that the source work published."""

import pytest

from bv_search.heads.config import (
    AdapterHead,
    HeadConfig,
    HeadShape,
    PooledAdapterHead,
    PoolingHead,
    TwoAdaptersHead,
)
from bv_search.heads.head import count_parameters

SPAN = HeadShape(layers=25, width=1024, outputs=2, per_token=True)
CLASSIFICATION = HeadShape(layers=26, width=1024, outputs=2, per_token=False)


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (PoolingHead(pooling="learned"), 2_076),
        (PoolingHead(pooling="average"), 2_050),
        (AdapterHead(size=386), 414_952),
        (AdapterHead(size=64), 68_802),
        (AdapterHead(size=386, shared=False), 9_910_552),
        (AdapterHead(size=64, shared=False), 1_643_202),
        (AdapterHead(size=386, skip=True), 417_000),
        (PooledAdapterHead(size=386, skip=True), 398_498),
        (TwoAdaptersHead(size=386), 811_400),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_span_heads_have_the_published_sizes(config: HeadConfig, parameters: int) -> None:
    assert count_parameters(config, SPAN) == parameters


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (PoolingHead(pooling="learned"), 2_077),
        (PooledAdapterHead(size=386, skip=True), 398_499),
        (PooledAdapterHead(pooling="average", size=386, skip=True), 398_472),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_classification_heads_have_the_published_sizes(config: HeadConfig, parameters: int) -> None:
    assert count_parameters(config, CLASSIFICATION) == parameters
