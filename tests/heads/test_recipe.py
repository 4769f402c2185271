"""Every kind of head is made of branches that are there."""

import pytest

from bv_search.heads.branches import (
    AllChannels,
    Channel,
    FeatureNgrams,
    LayerAdapters,
    PooledAdapter,
    SharedAdapter,
    TokenNgrams,
    Xception,
)
from bv_search.heads.config import (
    CONFIGS,
    AdapterHead,
    ConstantHead,
    HeadConfig,
    HeadShape,
    LinearHead,
    NgramHead,
    PooledAdapterHead,
    TwoAdaptersHead,
    XceptionHead,
)
from bv_search.heads.recipe import RECIPES, branches

SHAPE = HeadShape(layers=4, width=12, outputs=2, per_token=False, tokens=9)


def test_every_kind_has_a_recipe() -> None:
    assert set(RECIPES) == set(CONFIGS.values())
    for config in RECIPES:
        assert bool(branches(config(), SHAPE)) is (config is not ConstantHead)


@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        (LinearHead(), [AllChannels]),
        (LinearHead(channels=2), [Channel]),
        (AdapterHead(size=3), [SharedAdapter]),
        (AdapterHead(size=3, shared=False), [LayerAdapters]),
        (TwoAdaptersHead(size=3), [SharedAdapter, PooledAdapter]),
        (NgramHead(size=3, filters=2, longest=2), [TokenNgrams]),
        (NgramHead(size=3, filters=2, longest=2, along="features"), [FeatureNgrams]),
        (AdapterHead(size=3, skip=True), [SharedAdapter, Channel]),
        (PooledAdapterHead(size=3, skip=True), [PooledAdapter, Channel]),
        (XceptionHead(skip=True), [Xception, Channel]),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else None,
)
def test_settings_decide_the_branches(config: HeadConfig, kinds: list[type]) -> None:
    assert [type(branch) for branch in branches(config, SHAPE)] == kinds


def test_what_skips_is_the_last_channel() -> None:
    _, skip = branches(AdapterHead(size=3, skip=True), SHAPE)
    assert isinstance(skip, Channel)
    assert skip.channel == SHAPE.layers - 1


@pytest.mark.parametrize("pooling", ["learned", "average"])
def test_a_mix_learns_where_pooling_is_learned(pooling: str) -> None:
    (branch,) = branches(PooledAdapterHead(pooling=pooling, size=3), SHAPE)  # type: ignore[arg-type]
    names = {name for name, _ in branch.named_parameters()}
    assert ("mix.logits_L" in names) is (pooling == "learned")
