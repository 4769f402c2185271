"""Dropout draws from the head's seed and the step, and from nothing else."""

from dataclasses import replace

import pytest
import torch
from torch import Tensor

from bv_search.heads.branches.dropout import Dropout
from bv_search.heads.config import (
    AdapterHead,
    AttentionHead,
    CnnHead,
    GatedPoolingHead,
    HeadConfig,
    HeadShape,
    LinearHead,
    MlpHead,
    NgramHead,
    PooledAdapterHead,
    PoolingHead,
    XceptionModHead,
)
from bv_search.heads.head import Head
from bv_search.heads.inputs import States
from bv_search.heads.pack import Pack

SHAPE = HeadShape(layers=4, width=12, outputs=2, per_token=True)
CONFIGS: list[HeadConfig] = [
    LinearHead(),
    LinearHead(channels=2),
    MlpHead(size=4),
    GatedPoolingHead(),
    AttentionHead(queries=2, position_bias=True),
    PoolingHead(),
    AdapterHead(size=4, skip=True),
    AdapterHead(size=4, shared=False),
    PooledAdapterHead(size=4),
    CnnHead(channels=3, kernel=3, depth=2),
    NgramHead(size=4, filters=2, longest=3),
    NgramHead(size=4, filters=2, longest=3, along="features"),
    XceptionModHead(size=4, channels=3, blocks=1),
]


def some_windows() -> tuple[States, Tensor]:
    hidden_LTH = torch.randn(4, 8, 12, generator=torch.Generator().manual_seed(0))
    return {None: hidden_LTH}, torch.tensor([3, 5])


def head(config: HeadConfig, rate: float = 0.5, seed: int = 1) -> Head:
    made = Head(config, replace(SHAPE, per_token=not config.for_windows)).initialise(0)
    made.use_dropout(rate, seed)
    return made


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.25, 0.5, 0.6, 0.9])
@pytest.mark.parametrize("seed", [0, 1, 2**63])
def test_it_drops_its_share_and_makes_up_for_it(rate: float, seed: int) -> None:
    dropped = Dropout(rate=rate, seed=seed, branch=0)(torch.ones(100, 1000), step=3)

    assert float((dropped == 0).float().mean()) == pytest.approx(rate, abs=0.01)
    assert sorted({*dropped.flatten().tolist()}) == pytest.approx(
        [0.0, 1 / (1 - rate)], rel=1e-4
    )  # of 65536 shares


def test_no_place_is_dropped_more_often_than_another() -> None:
    """In a thousand steps of 20 rows of 50 features: within six deviations of what is expected."""
    dropout, steps, rate = Dropout(rate=0.3, seed=5, branch=1), 1000, 0.3
    dropped_SRF = torch.stack([dropout.mask((20, 50), torch.device("cpu"), n) == 0 for n in range(steps)])
    for dims in ((0,), (0, 1), (0, 2), (1, 2), (1,), (2,)):
        shares, count = dropped_SRF.float().mean(dim=dims), dropped_SRF[0].numel() * steps
        each = count / shares.numel()
        assert float((shares - rate).abs().max()) < 6 * (rate * (1 - rate) / each) ** 0.5


@pytest.mark.parametrize("apart", [1, 2, 32, 50, 64])
def test_places_do_not_depend_on_each_other(apart: int) -> None:
    kept_N = Dropout(rate=0.5, seed=5, branch=1).mask((1000, 50), torch.device("cpu"), 3).flatten() > 0
    same = float((kept_N[:-apart] == kept_N[apart:]).float().mean())
    assert same == pytest.approx(0.5, abs=0.015)


def test_nothing_else_that_is_drawn_changes() -> None:
    before = torch.get_rng_state()
    Dropout(rate=0.5, seed=0, branch=0)(torch.ones(10, 10), step=0)
    assert torch.equal(torch.get_rng_state(), before)


def test_seed_branch_step_and_part_each_change_the_draw() -> None:
    ones = torch.ones(1000)
    draws = [
        Dropout(rate=0.5, seed=seed, branch=branch)(ones, step, part)
        for seed in (0, 1)
        for branch in (0, 1)
        for step in (0, 1)
        for part in (0, 1)
    ]

    assert all(
        0.4 < float((a != b).float().mean()) < 0.6 for n, a in enumerate(draws) for b in draws[n + 1 :]
    )
    assert torch.equal(Dropout(rate=0.5, seed=0, branch=0)(ones, 0), draws[0])


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_a_head_drops_while_it_trains_and_never_while_it_is_scored(config: HeadConfig) -> None:
    batch = some_windows()

    trained = [Pack([head(config)])(*batch, step=step)[0] for step in (0, 0, 1)]

    assert torch.equal(trained[0], trained[1])
    assert not torch.allclose(trained[0], trained[2])
    scored, plain = Pack([head(config)])(*batch)[0], Pack([head(config, rate=0.0)])(*batch)[0]
    torch.testing.assert_close(scored, plain)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.name)
def test_what_is_dropped_does_not_depend_on_the_pack(config: HeadConfig) -> None:
    batch = some_windows()
    others = [head(config, rate=rate, seed=seed) for rate, seed in ((0.0, 5), (0.5, 6), (0.2, 7))]

    (alone,) = Pack([head(config)])(*batch, step=2)
    together = Pack([others[0], others[1], head(config), others[2]])(*batch, step=2)[2]

    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)
