"""What every head promises, whatever its kind."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.heads.config import (
    CONFIGS,
    AdapterHead,
    AttentionHead,
    CnnHead,
    ConstantHead,
    FlatAdapterHead,
    GatedPoolingHead,
    HeadConfig,
    HeadShape,
    InceptionHead,
    Inputs,
    LinearHead,
    MlpHead,
    NgramHead,
    PooledAdapterHead,
    PoolingHead,
    TwoAdaptersHead,
    XceptionHead,
    XceptionModHead,
    fits,
    head_from_json,
)
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from bv_search.report.layers import learned_weights
from bv_search.scan.loss import LOSSES
from bv_search.scan.outcome import SegmentResult, Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.state import HeadState
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from tests.stores import make_class_store, make_span_store

DEEPEST = XceptionHead(form="full")
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
    AdapterHead(size=4, readout="mean"),
    FlatAdapterHead(size=4, tokens=128),
    CnnHead(channels=6, kernel=3, depth=2),
    CnnHead(channels=5, kernel=4, depth=3, dilation=2, pooling="learned"),
    CnnHead(channels=6, kernel=3, depth=2, pooling="average", readout="mean"),
    NgramHead(size=8, filters=3),
    NgramHead(size=8, filters=2, longest=4, pooling="average", readout="mean"),
    NgramHead(size=8, filters=2, longest=5, along="features"),
    InceptionHead(size=8, channels=4),
    InceptionHead(size=8, channels=4, keep_length=False),
    XceptionModHead(size=8, channels=6, blocks=2),
    XceptionModHead(size=6, channels=6, blocks=1, readout="mean"),
    XceptionHead(),
    XceptionHead(skip=True),
    DEEPEST,
    LinearHead(),
    LinearHead(channels=2),
    LinearHead(channels=1, readout="mean"),
    MlpHead(size=8),
    MlpHead(size=5),
    GatedPoolingHead(),
    GatedPoolingHead(readout="mean"),
    AttentionHead(),
    AttentionHead(queries=2),
    AttentionHead(queries=4, pooling="average"),
    AttentionHead(position_bias=True),
    AttentionHead(queries=2, pooling="average", position_bias=True),
    PoolingHead(readout="max"),
    PoolingHead(readout="last"),
    AdapterHead(size=4, skip=True, readout="max"),
    NgramHead(size=8, filters=2, readout="last"),
    MlpHead(size=4, readout="max"),
    LinearHead(readout="last"),
    ConstantHead(),
]
LAYERS, WIDTH = 5, 24
SHAPES = {
    "spans": HeadShape(layers=LAYERS, width=WIDTH, outputs=2, per_token=True, tokens=386),
    "classes": HeadShape(layers=LAYERS, width=WIDTH, outputs=3, per_token=False, tokens=128),
    "one token": HeadShape(layers=LAYERS, width=WIDTH, outputs=3, per_token=False, tokens=1),
}
PASS = 13  # micro-batches of 200 windows
STOP = 2 * PASS + 5  # inside of a step of some
BATCHES = 16, 48, 128
INPUTS: tuple[Inputs, ...] = "standard", "raw"
ZERO_GRADIENT = "bias_C"  # of spans: a softmax over tokens ignores a constant, and Adam amplifies rounding


FITTING = [
    pytest.param(config, shape, id=f"{config.name} on {where}")
    for where, shape in SHAPES.items()
    for config in HEADS
    if fits(config, shape)
]


def reads(config: HeadConfig, where: str, inputs: Inputs) -> bool:
    """Either kind of inputs; the deepest head takes long, and has one on each store."""
    return config != DEEPEST or (inputs == "raw") == (where == "one token")


STARTS = [
    pytest.param(config, where, inputs, id=f"{config.name} on {where}, {inputs}")
    for where, shape in SHAPES.items()
    for config in HEADS
    for inputs in INPUTS
    if fits(config, shape) and reads(config, where, inputs)
]


def trial(number: int, inputs: Inputs) -> TrialConfig:
    """Alike but for their seeds, rates and schedules: nothing of one may leak into another.

    They are checked after each pass, and some have learned before the others.
    """
    odd = number % 2 == 1
    training = TrainingConfig(
        learning_rate=3e-4 if HEADS[number] == DEEPEST else 1e-2,  # at 1e-3 some seeds end where they began
        seed=number,
        batch=BATCHES[number % 3],
        patience=1 if number % 7 == 0 else 6,
        weight_decay=0.1 if odd else 0.0,
        dropout=0.2 if number % 3 == 0 else 0.0,
        label_smoothing=0.1 if number % 4 == 0 else 0.0,
        warmup=0.3 if number % 5 == 0 else 0.0,
        schedule="cosine" if number % 5 < 2 else "constant",
    )
    return TrialConfig(head=HEADS[number], inputs=inputs, training=training)


def start(number: int, inputs: Inputs) -> Start:
    return Start(trial=f"{number} {inputs}", config=trial(number, inputs))


@pytest.fixture(scope="module", autouse=True)
def two_threads() -> Iterator[None]:
    """In a pack, most heads have one of them each; alone, a head has both."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    place = tmp_path_factory.mktemp("stores")
    return {
        "spans": make_span_store(place / "spans"),
        "classes": make_class_store(place / "classes", tokens=12),
        "one token": make_class_store(place / "one-token"),
    }


@pytest.fixture(scope="module")
def packed(stores: dict[str, Store]) -> dict[str, dict[str, SegmentResult]]:
    """All heads that fit a store, on inputs of either kind, after two passes and more in one mixed pack."""
    found = {}
    for where, store in stores.items():
        scanner = Scanner(store.path)
        fitting = [n for n, config in enumerate(HEADS) if fits(config, scanner.shape)]
        starts = [start(n, inputs) for inputs in INPUTS for n in fitting if reads(HEADS[n], where, inputs)]
        outcomes = scanner.segment(starts, STOP, score=[each.trial for each in starts])
        found[where] = {outcome.trial: outcome for outcome in outcomes}
    return found


def state_of(outcome: SegmentResult) -> HeadState:
    return HeadState.from_bytes(outcome.state or b"")


def test_every_kind_is_here() -> None:
    assert {head.kind for head in HEADS} == set(CONFIGS)


def test_names_tell_heads_apart() -> None:
    assert len({config.name for config in HEADS}) == len(HEADS)


@pytest.mark.parametrize("config", HEADS, ids=lambda config: config.name)
def test_its_config_comes_back_from_json(config: HeadConfig) -> None:
    assert head_from_json(config.to_json()) == config


@pytest.mark.parametrize(("config", "shape"), FITTING)
def test_it_comes_back_from_its_folder(config: HeadConfig, shape: HeadShape, tmp_path: Path) -> None:
    head = Head(config, shape).initialise(3)
    hidden_LTH, lengths_N = torch.randn(LAYERS, 9, WIDTH), torch.tensor([4, 5])
    Pack([head])({None: hidden_LTH}, lengths_N, step=0)  # the running statistics are no longer the first ones
    head.save_pretrained(tmp_path)

    saved, again = Pack([head]), Pack([Head.from_pretrained(tmp_path)])

    assert torch.equal(again({None: hidden_LTH}, lengths_N)[0], saved({None: hidden_LTH}, lengths_N)[0])


@pytest.mark.parametrize(("config", "shape"), FITTING)
def test_a_mix_that_it_learns_is_known_of_its_config(config: HeadConfig, shape: HeadShape) -> None:
    """Or a report would not look for its weights."""
    assert config.learns_mix or not learned_weights(Head(config, shape))


@pytest.mark.parametrize(("config", "shape"), FITTING)
def test_a_window_scores_the_same_alone_and_in_any_batch(config: HeadConfig, shape: HeadShape) -> None:
    pack = Pack([Head(config, shape).initialise(3)])
    lengths = [3, 17, 1, 5] if shape.tokens != 1 else [1, 1, 1, 1]
    hidden_LTH = torch.randn(LAYERS, sum(lengths), WIDTH)
    windows = list(zip(torch.split(hidden_LTH, lengths, dim=1), lengths, strict=True))

    together = pack({None: hidden_LTH}, torch.tensor(lengths))[0]
    alone = torch.cat([pack({None: window}, torch.tensor([length]))[0] for window, length in windows])

    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("config", "where", "inputs"), STARTS)
def test_it_ends_in_a_mixed_pack_as_it_does_alone(
    stores: dict[str, Store],
    packed: dict[str, dict[str, SegmentResult]],
    config: HeadConfig,
    where: str,
    inputs: Inputs,
) -> None:
    """Weights and the best ones, what it was worth on the way, and where it had learned."""
    own = start(HEADS.index(config), inputs)
    (alone,) = Scanner(stores[where].path).segment([own], STOP, score=[own.trial])
    beside = packed[where][own.trial]

    assert (beside.position, beside.rows) == (alone.position, alone.rows)
    assert beside.has_learned == alone.has_learned
    assert [check.position for check in beside.checks] == [check.position for check in alone.checks]
    assert [each.score for each in beside.checks] == pytest.approx([each.score for each in alone.checks])
    assert [each.loss for each in beside.checks] == pytest.approx(
        [each.loss for each in alone.checks], rel=1e-3
    )
    one, other = state_of(beside), state_of(alone)
    for kind in ("weights", "best_weights"):
        for name, tensor in getattr(other, kind).items():
            if not (name == ZERO_GRADIENT and other.shape.per_token):
                difference = (getattr(one, kind)[name] - tensor).norm()
                assert difference <= 3e-4 * tensor.norm(), f"{kind}: {name}"


NARROW = [
    config for config in HEADS if config.kind in {"linear", "pooling", "mlp", "adapter", "gated-pooling"}
]


@pytest.mark.parametrize("where", SHAPES)
def test_with_products_of_16_bits_it_ends_in_a_pack_as_it_does_alone(
    stores: dict[str, Store], packed: dict[str, dict[str, SegmentResult]], where: str
) -> None:
    """And near to where it ends with 32."""
    scanner = Scanner(stores[where].path, precision="bfloat16")
    fitting = [HEADS.index(config) for config in NARROW if fits(config, scanner.shape)]
    starts = [start(n, "standard") for n in fitting]
    beside = scanner.segment(starts, STOP, score=[each.trial for each in starts])
    for own, outcome in list(zip(starts, beside, strict=True))[::3]:
        (alone,) = scanner.segment([own], STOP, score=[own.trial])
        wide = state_of(packed[where][own.trial])
        for name, tensor in state_of(alone).weights.items():
            if not (name == ZERO_GRADIENT and wide.shape.per_token):
                one, other = state_of(outcome).weights[name], wide.weights[name]
                assert (one - tensor).norm() <= 1e-3 * tensor.norm(), f"{own.config.head.name}: {name}"
                assert (other - tensor).norm() <= 0.05 * tensor.norm(), f"{own.config.head.name}: {name}"


@pytest.mark.parametrize("where", SHAPES)
def test_some_have_learned_and_others_go_on(packed: dict[str, dict[str, SegmentResult]], where: str) -> None:
    """Or nothing would be said of those that leave a pack."""
    outcomes = packed[where].values()
    assert 0 < sum(outcome.has_learned for outcome in outcomes) < len(outcomes)
    assert {outcome.position < STOP for outcome in outcomes} == {True, False}


def train_losses(store: Store, states: list[HeadState]) -> np.ndarray:
    """Of each head, a window."""
    scanner = Scanner(store.path)
    data = scanner.training_data(states)
    labels_ND, loss = torch.from_numpy(data.labels_ND), LOSSES[data.kind]
    pack = Pack([head for state in states for head in state.heads(data.standard)])
    with torch.inference_mode():
        sums_K = sum(
            loss(torch.stack(pack(b.states, b.lengths_N)), b.lengths_N, labels_ND[b.windows], None)
            for b in data.rows.all()
        )
    return np.asarray(sums_K) / data.rows.split.windows


@pytest.mark.parametrize("where", SHAPES)
def test_each_learns(
    stores: dict[str, Store], packed: dict[str, dict[str, SegmentResult]], where: str
) -> None:
    states = [state_of(outcome) for outcome in packed[where].values()]
    trained = [state for state in states if state.config.head != ConstantHead()]
    scanner = Scanner(stores[where].path)
    fresh = [scanner.fresh(Start(trial=state.trial, config=state.config)) for state in trained]

    left = train_losses(stores[where], trained) / train_losses(stores[where], fresh)

    stuck = [state.config.head.name for state, share in zip(trained, left, strict=True) if share >= 1.0]
    assert not stuck
    assert left.mean() < 0.75
