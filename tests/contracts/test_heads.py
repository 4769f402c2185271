"""What every head promises, whatever its kind."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.heads.config import (
    CONFIGS,
    AdapterHead,
    HeadConfig,
    HeadShape,
    PooledAdapterHead,
    PoolingHead,
    Readout,
    TwoAdaptersHead,
    head_from_json,
)
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from bv_search.scan.scanner import Scanner, Start
from bv_search.scan.state import HeadState
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from tests.stores import make_class_store, make_span_store

HEADS: list[HeadConfig] = [
    PoolingHead(),
    PoolingHead(pooling="average"),
    AdapterHead(size=8),
    AdapterHead(size=5, skip=True),
    AdapterHead(size=8, shared=False),
    AdapterHead(size=5, shared=False, skip=True),
    PooledAdapterHead(size=8),
    PooledAdapterHead(size=5, pooling="average", skip=True),
    TwoAdaptersHead(size=6),
]
SHAPES = [
    HeadShape(layers=5, width=24, outputs=2, per_token=True),
    HeadShape(layers=5, width=24, outputs=3, per_token=False),
]
each_head = pytest.mark.parametrize("config", HEADS, ids=lambda config: config.name)
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=["span", "classes"])

# alike but for their seeds, rates and schedules: nothing of one may leak into another
SETTINGS = [
    TrainingConfig(learning_rate=1e-2, seed=n, batch=(16, 32)[n % 2], weight_decay=(0.0, 0.1)[n % 2])
    for n in range(len(HEADS))
]
TRIALS = [TrialConfig(head=head, training=training) for head, training in zip(HEADS, SETTINGS, strict=True)]
ZERO_GRADIENT = "bias_C"  # of spans: a softmax over tokens ignores a constant, and Adam amplifies rounding


@pytest.fixture(scope="module", params=[make_span_store, make_class_store], ids=["span", "classes"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    made: Store = request.param(tmp_path_factory.mktemp("store"))
    return made


@pytest.fixture(scope="module")
def packed(store: Store) -> list[HeadState]:
    """All heads after one epoch in one mixed pack."""
    outcomes = Scanner(store.path).segment(starts(), EPOCH, score=())
    return [HeadState.from_bytes(outcome.state or b"") for outcome in outcomes]


EPOCH = 13  # micro-batches of 200 windows


def starts() -> list[Start]:
    return [Start(trial=str(n), config=config) for n, config in enumerate(TRIALS)]


def test_every_kind_is_here() -> None:
    assert {head.kind for head in HEADS} == set(CONFIGS)


@each_head
def test_its_config_comes_back_from_json(config: HeadConfig) -> None:
    assert head_from_json(config.to_json()) == config


@each_head
@each_shape
def test_it_comes_back_from_its_folder(config: HeadConfig, shape: HeadShape, tmp_path: Path) -> None:
    head = Head(config, shape).initialise(3)
    head.save_pretrained(tmp_path)
    hidden_LTH, lengths_N = torch.randn(5, 9, 24), torch.tensor([4, 5])

    saved, again = Pack([head]), Pack([Head.from_pretrained(tmp_path)])

    assert torch.equal(again(hidden_LTH, lengths_N)[0], saved(hidden_LTH, lengths_N)[0])


@each_head
@each_shape
@pytest.mark.parametrize("readout", ["first", "mean"])
def test_a_window_scores_the_same_alone_and_in_any_batch(
    config: HeadConfig, shape: HeadShape, readout: Readout
) -> None:
    pack = Pack([Head(replace(config, readout=readout), shape).initialise(3)])
    lengths = [3, 7, 1, 5]
    hidden_LTH = torch.randn(5, sum(lengths), 24)
    windows = list(zip(torch.split(hidden_LTH, lengths, dim=1), lengths, strict=True))

    together = pack(hidden_LTH, torch.tensor(lengths))[0]
    alone = torch.cat([pack(window, torch.tensor([length]))[0] for window, length in windows])

    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("number", range(len(HEADS)), ids=lambda n: HEADS[n].name)
def test_it_ends_an_epoch_in_a_mixed_pack_as_it_does_alone(
    store: Store, packed: list[HeadState], number: int
) -> None:
    (outcome,) = Scanner(store.path).segment([starts()[number]], EPOCH, score=())
    alone = HeadState.from_bytes(outcome.state or b"")

    for name, tensor in alone.weights.items():
        if not (name == ZERO_GRADIENT and alone.shape.per_token):
            difference = (packed[number].weights[name] - tensor).norm() / tensor.norm()
            assert difference <= 1e-4, name


def test_they_all_learn(store: Store, packed: list[HeadState]) -> None:
    finals = Scanner(store.path).final([state.to_bytes() for state in packed])
    untrained = Scanner(store.path).segment(
        [Start(trial=s.trial, config=s.config) for s in starts()], 1, score=[s.trial for s in starts()]
    )

    assert np.mean([f.select.score for f in finals]) > np.mean([o.score for o in untrained if o.score]) + 0.1
