"""The exact sizes that the paper published, and defaults near its published shares."""

from dataclasses import replace

import pytest
import torch

from bv_search.heads.config import (
    AdapterHead,
    AttentionHead,
    CnnHead,
    ConstantHead,
    FlatAdapterHead,
    GatedPoolingHead,
    HeadConfig,
    HeadShape,
    InceptionHead,
    LinearHead,
    MlpHead,
    NgramHead,
    PooledAdapterHead,
    PoolingHead,
    TwoAdaptersHead,
    XceptionHead,
    XceptionModHead,
)
from bv_search.heads.config.published import PERCENT, published_percent
from bv_search.heads.head import Head, count_parameters

SPAN = HeadShape(layers=25, width=1024, outputs=2, per_token=True)
CLASSIFICATION = HeadShape(layers=26, width=1024, outputs=2, per_token=False)
BERT_LARGE = 335_141_888


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
        (XceptionHead(), 264_066),
        (XceptionHead(skip=True), 266_114),
        (XceptionHead(form="full"), 20_662_106),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_classification_heads_have_the_published_sizes(config: HeadConfig, parameters: int) -> None:
    assert count_parameters(config, CLASSIFICATION) == parameters


@pytest.mark.parametrize(
    ("config", "total"),
    [
        (XceptionHead(), 267_010),
        (XceptionHead(skip=True), 269_058),
        (XceptionHead(form="full"), 20_716_634),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_totals_count_the_statistics_of_batch_norm(config: HeadConfig, total: int) -> None:
    with torch.device("meta"):
        assert Head(config, CLASSIFICATION).stored_count() == total


@pytest.mark.parametrize(
    ("config", "parameters", "published"),
    [
        (CnnHead(), 331_562, 0.099),
        (CnnHead(pooling="learned"), 311_428, 0.093),
        (CnnHead(pooling="average"), 311_402, 0.093),
        (CnnHead(channels=133, dilation=2), 403_790, 0.121),
        (NgramHead(), 1_110_392, 0.332),
        (NgramHead(along="features", filters=55), 694_823, 0.207),
        (InceptionHead(), 6_669_944, 1.994),
        (InceptionHead(keep_length=False), 6_669_944, 1.994),
        (XceptionModHead(), 6_600_881, 1.970),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_defaults_stand_near_the_published_shares(
    config: HeadConfig, parameters: int, published: float
) -> None:
    assert count_parameters(config, SPAN) == parameters
    assert 100 * parameters / BERT_LARGE == pytest.approx(published, abs=0.005)


def test_a_flattened_head_has_weights_for_each_position() -> None:
    head = FlatAdapterHead(size=16, tokens=128)

    assert count_parameters(head, CLASSIFICATION) == 1024 * 16 + 16 + 128 * 26 * 16 * 2 + 2


@pytest.mark.parametrize(
    ("config", "parameters"),
    [
        (ConstantHead(), 2),
        (LinearHead(), 25 * 1024 * 2 + 2),
        (LinearHead(channels=3), 1024 * 2 + 2),
        (MlpHead(size=64), (25 * 1024 + 1) * 64 + 64 * 2 + 2),
        (AttentionHead(queries=4), 4 * 1024 + 25 + 1 + 4 * 1024 * 2 + 2),
        (
            AttentionHead(queries=2, pooling="average", position_bias=True),
            2 * 1024 + 2 * 33 + 2 * 1024 * 2 + 2,
        ),
        (GatedPoolingHead(), 25 * 1024 + 25 + 25 + 1 + 1024 * 2 + 2),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_heads_of_our_own_have_the_sizes_of_their_formulas(config: HeadConfig, parameters: int) -> None:
    assert count_parameters(config, replace(SPAN, per_token=False)) == parameters


def test_percents_are_of_the_published_shape_alone() -> None:
    assert published_percent(AdapterHead(size=386), SPAN) == 0.124
    assert published_percent(AdapterHead(size=385), SPAN) is None
    for other in (replace(SPAN, layers=26), replace(SPAN, width=768), replace(SPAN, per_token=False)):
        assert published_percent(AdapterHead(size=386), other) is None


@pytest.mark.parametrize("config", PERCENT, ids=lambda config: config.name)
def test_heads_stand_near_their_published_shares(config: HeadConfig) -> None:
    assert 100 * count_parameters(config, SPAN) / BERT_LARGE == pytest.approx(PERCENT[config], abs=0.005)
