"""Copies of a head in training: each learns from all rows but those of its own fold."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from bv_search.heads.copies import part_tensors
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from bv_search.scan.checks import Check
from bv_search.scan.folds import Folds
from bv_search.scan.learner import decays
from bv_search.scan.loss import LOSSES
from bv_search.scan.outcome import Diverged, SegmentResult, Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.segment import Trained, TrainingData, train_segment
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from tests.stores import make_class_store, make_span_store, make_value_store

FOLDS = 3
ADAPTER = {"kind": "adapter", "size": 6}
KINDS = ("spans", "classes", "one token", "values")


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    """Of 150 windows to learn from, train's last six fill no micro-batch, and come in memory only."""
    place = tmp_path_factory.mktemp("copies")
    return {
        "spans": make_span_store(place / "spans", windows=102),
        "classes": make_class_store(place / "classes", windows=102, tokens=12),
        "one token": make_class_store(place / "one-token", windows=102),
        "values": make_value_store(place / "values", windows=102),
    }


WHERE = pytest.mark.parametrize("where", KINDS)


def start(trial: str = "a", **settings: Any) -> Start:
    config = {"head": ADAPTER, "learning_rate": 1e-2, "passes": 2, **settings}
    return Start(trial=trial, config=TrialConfig.from_json(config))


def begin(store: Store, *starts: Start) -> tuple[TrainingData, list[HeadState]]:
    scanner = Scanner(store.path, folds=FOLDS, device="cpu")
    states = [scanner.fresh(each) for each in starts]
    return scanner.training_data(states), states


def train(data: TrainingData, states: list[HeadState], stop: int) -> list[HeadState]:
    ends = train_segment(data, states, stop)
    assert all(isinstance(end, Trained) for end in ends)
    return [end.state for end in ends if isinstance(end, Trained)]


def copies_of(state: HeadState) -> list[dict[str, Tensor]]:
    return part_tensors(state.weights, state.copies)


def alike(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return all(torch.equal(tensor, other[name]) for name, tensor in one.items())


def other_labels(data: TrainingData, fold: int) -> TrainingData:
    """With every label of a fold changed."""
    labels_ND = data.labels_ND.copy()
    assert data.folds is not None
    own = data.folds.of_N == fold
    labels_ND[own] = 1.0 - labels_ND[own] if labels_ND.shape[1] == 1 else 0.0
    assert not np.array_equal(labels_ND, data.labels_ND)
    return replace(data, labels_ND=labels_ND)


SETTINGS: list[dict[str, Any]] = [
    {"batch": 48},
    {"dropout": 0.3, "weight_decay": 0.1, "head": {"kind": "linear", "channels": "all"}},
    {"label_smoothing": 0.1, "inputs": "raw", "head": {"kind": "pooling"}},
]


@WHERE
@pytest.mark.parametrize("settings", SETTINGS, ids=["steps of three", "dropout", "smoothing"])
def test_a_copy_never_learns_from_its_own_fold(
    stores: dict[str, Store], where: str, settings: dict[str, Any]
) -> None:
    """Whatever stands there, its weights are the same to the bit, and those of the others are not."""
    if where == "values":
        settings = {name: value for name, value in settings.items() if name != "label_smoothing"}
    data, (state,) = begin(stores[where], start(**settings))
    (told,) = train(data, [state], 18)
    for fold in range(FOLDS):
        (lied,) = train(other_labels(data, fold), [state], 18)
        same = [alike(*pair) for pair in zip(copies_of(told), copies_of(lied), strict=True)]
        assert same == [copy == fold for copy in range(FOLDS)]


@WHERE
def test_a_copys_first_bias_knows_nothing_of_its_fold(stores: dict[str, Store], where: str) -> None:
    data, (state,) = begin(stores[where], start())
    assert data.folds is not None
    biases = [own["bias_C"] for own in copies_of(state)]
    for copy, bias_C in enumerate(biases):
        labels_N = data.labels_ND[data.folds.of_N != copy, 0]
        match where:
            case "spans":
                assert not bias_C.any()
            case "values":
                assert float(data.standard.answers(bias_C)) == pytest.approx(labels_N.mean())
            case _:
                shares = np.bincount(labels_N.astype(int), minlength=2) / len(labels_N)
                np.testing.assert_allclose(bias_C.softmax(dim=0).numpy(), shares, rtol=1e-5)


@WHERE
def test_a_step_divides_by_the_windows_that_a_copy_learned_from(stores: dict[str, Store], where: str) -> None:
    """By hand: Adam on the mean loss of the windows of the other folds. Of two steps the sizes show."""
    data, (state,) = begin(stores[where], start(batch=48, weight_decay=0.1, learning_rate=0.1))
    assert data.folds is not None
    (found,) = train(data, [state], 6)
    for copy, head in enumerate(state.heads(data.standard)):
        groups: list[dict[str, Any]] = [
            {"params": [parameter], "weight_decay": 0.1 if decays(name, parameter) else 0.0}
            for name, parameter in head.named_parameters()
        ]
        adam = torch.optim.AdamW(groups, lr=0.1)
        for first in (0, 3):
            adam.zero_grad()
            torch.autograd.backward(mean_loss(data, head, copy, first))
            adam.step()
        for name, tensor in copies_of(found)[copy].items():
            if (
                name != "bias_C" or where != "spans"
            ):  # a softmax over tokens ignores it: its slope is rounding
                torch.testing.assert_close(tensor, head.state_dict()[name], rtol=1e-3, atol=1e-4)


def mean_loss(data: TrainingData, head: Head, copy: int, first: int) -> Tensor:
    """Over those of 48 windows that a copy learns from."""
    assert data.folds is not None
    total, count = torch.tensor(0.0), 0
    for batch in data.rows.stretch(data.rows.split.windows, first, first + 3, 48):
        (logits,) = Pack([head])(batch.states, batch.lengths_N, step=0)
        labels_ND = torch.from_numpy(data.labels_ND[batch.windows])
        learned_N = torch.from_numpy(data.folds.of_N[batch.windows] != copy)
        weights_KN = learned_N[None].float()
        total = total + LOSSES[data.kind](logits[None], batch.lengths_N, labels_ND, None, weights_KN).sum()
        count += int(learned_N.sum())
    assert 0 < count < 48
    return total / count


@WHERE
def test_a_batch_that_is_wholly_of_one_fold_does_no_harm(stores: dict[str, Store], where: str) -> None:
    """Its copy has no window to divide by, learns nothing, and goes on."""
    data, (state,) = begin(stores[where], start())
    assert data.folds is not None
    of_N = data.folds.of_N.copy()
    of_N[:16] = 1
    data = replace(data, folds=Folds(count=FOLDS, of_N=of_N, judged=data.folds.judged))
    (first,) = train(data, [state], 1)
    unchanged = [alike(*pair) for pair in zip(copies_of(state), copies_of(first), strict=True)]
    assert unchanged == [False, True, False]
    (later,) = train(data, [first], 4)
    assert later.steps == 4
    assert all(tensor.isfinite().all() for own in copies_of(later) for tensor in own.values())
    assert not alike(copies_of(later)[1], copies_of(first)[1])


@WHERE
def test_a_copy_is_the_same_alone_as_in_a_pack(stores: dict[str, Store], where: str) -> None:
    heads = [
        start("a", dropout=0.3),
        start("b", head={"kind": "pooling"}, inputs="raw"),
        start("c", head={**ADAPTER, "size": 4}, dropout=0.1),
    ]
    data, states = begin(stores[where], *heads)
    for state, found in zip(states, train(data, states, 18), strict=True):
        (alone,) = train(data, [state], 18)
        assert found.copies == alone.copies == FOLDS
        for name, tensor in found.weights.items():
            if not name.endswith("bias_C"):
                torch.testing.assert_close(tensor, alone.weights[name], rtol=1e-3, atol=1e-5)


COURSES = pytest.mark.parametrize(
    "settings",
    [
        {"batch": 48, "dropout": 0.3},
        {"head": {"kind": "xception", "form": "abbreviated"}, "patience": 2},
        {"data_fraction": 0.3, "batch": 48},
    ],
    ids=["steps of three", "batch norm", "less data"],
)


@WHERE
@COURSES
def test_a_course_that_is_cut_goes_on_as_one_that_is_not(
    stores: dict[str, Store], where: str, settings: dict[str, Any]
) -> None:
    """Through bytes, at borders: weights, best weights and checks of all copies are those of one segment."""
    if where == "spans" and "head" in settings:
        settings = {**settings, "head": {"kind": "xception-mod", "size": 6, "channels": 4, "blocks": 1}}
    scanner = Scanner(stores[where].path, folds=FOLDS, device="cpu")
    head = start(passes="auto", **settings)
    length = 3 if "data_fraction" in settings else {"spans": 9, "classes": 9}.get(where, 10)
    (whole,) = scanner.segment([head], 4 * length, score=())
    assert [check.position for check in whole.checks] == [n * length for n in range(1, 5)][
        : len(whole.checks)
    ]
    checks: list[Check] = []
    part: bytes | Start = head
    for stop in (length, 3 * length, 4 * length):
        (outcome,) = scanner.segment([part], stop, score=())
        checks += outcome.checks
        part = through_bytes(outcome)
    assert tuple(checks) == whole.checks
    assert part == whole.state


def through_bytes(outcome: SegmentResult) -> bytes:
    return HeadState.from_bytes(outcome.state or b"").to_bytes()


def test_a_step_that_is_cut_keeps_what_each_copy_has_learned_from(stores: dict[str, Store]) -> None:
    scanner = Scanner(stores["classes"].path, folds=FOLDS, device="cpu")
    head = start(batch=48)
    (whole,) = scanner.segment([head], 6, score=())
    (cut,) = scanner.segment([head], 4, score=())
    state = HeadState.from_bytes(cut.state or b"")
    folds = Folds.of(stores["classes"], FOLDS)
    learned = [int((folds.of_N[48:64] != copy).sum()) for copy in range(FOLDS)]
    assert (state.steps, state.pending) == (1, tuple(learned))
    (again,) = scanner.segment([state.to_bytes()], 6, score=())
    assert again.state == whole.state


@WHERE
def test_a_head_is_lost_with_any_of_its_copies(stores: dict[str, Store], where: str) -> None:
    data, (lost, kept) = begin(stores[where], start("lost"), start("kept"))
    lost.weights["2.bias_C"].fill_(float("nan"))
    gone, other = train_segment(data, [lost, kept], 3)
    assert isinstance(gone, Diverged)
    assert isinstance(other, Trained)


def test_rows_that_were_seen_are_those_of_a_pass(stores: dict[str, Store]) -> None:
    """Of train and select; of many tokens, without those that fill no micro-batch."""
    for where, rows in (("one token", 150), ("classes", 144)):
        scanner = Scanner(stores[where].path, folds=FOLDS, device="cpu")
        assert scanner.training_data([]).rows.split.windows == rows
        (outcome,) = scanner.segment([start(passes=1)], -(-rows // 16), score=["a"])
        assert outcome.rows == rows
        assert outcome.found is not None
        assert outcome.found.rows == rows


def test_a_head_on_little_data_learns_from_none_of_select(stores: dict[str, Store]) -> None:
    """The first rows are train's; all judge it."""
    data, (state,) = begin(stores["one token"], start(data_fraction=0.4))
    (found,) = train(data, [state], 8)
    labels_ND = data.labels_ND.copy()
    labels_ND[64:] = 1.0 - labels_ND[64:]
    (other,) = train(replace(data, labels_ND=labels_ND), [state], 8)
    assert alike(dict(found.weights), dict(other.weights))
    assert data.judge is not None
    (verdict,) = data.judge.judge([found.heads(data.standard)])
    assert verdict is not None
    assert len(verdict.logits) == 150
