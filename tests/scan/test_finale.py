"""The finale: heads learn once more, from train and select, several copies of each, to their own stops."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load
from torch import Tensor

from bv_search.heads.copies import part_tensors
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.scan.batch import WantedStates
from bv_search.scan.finale import train_out
from bv_search.scan.ladder_solver import constant_answers
from bv_search.scan.outcome import Diverged, Finalist, FinalistResult, Finished
from bv_search.scan.rows import open_rows
from bv_search.scan.scanner import Scanner
from bv_search.scan.score import score_split
from bv_search.scan.segment import Trained, TrainingData, train_segment
from bv_search.scan.state import HeadState, seeds_of
from bv_search.scan.store_view import head_shape, joined_split, labels_of, role_index
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tasks.votes import mean_logits
from tests.stores import make_class_store, make_span_store

ADAPTER = {"kind": "adapter", "size": 6}
COPIES = 3
PASS = 9  # micro-batches of train and select


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Store]:
    """Of 144 windows in all."""
    place = tmp_path_factory.mktemp("finale")
    return {
        "spans": make_span_store(place / "spans", windows=96),
        "one token": make_class_store(place / "one-token", windows=96),
    }


WHERE = pytest.mark.parametrize("where", ["spans", "one token"])


def finalist(trial: str = "a", position: int = 2 * PASS, **settings: Any) -> Finalist:
    config = TrialConfig.from_json({"head": ADAPTER, "learning_rate": 1e-2, "passes": 4, **settings})
    return Finalist(trial=trial, config=config, position=position, copies=COPIES)


def play(store: Store, *finalists: Finalist, folds: int = 3) -> list[FinalistResult]:
    encores = Scanner(store.path, folds=folds, device="cpu").finale(finalists)
    assert all(isinstance(encore, FinalistResult) for encore in encores)
    return [encore for encore in encores if isinstance(encore, FinalistResult)]


def copies_of(made: Finished) -> list[dict[str, Tensor]]:
    return part_tensors(load(made.weights), made.copies)


def heads_in(made: Finished, config: TrialConfig) -> list[Head]:
    heads = []
    for own in copies_of(made):
        head = Head(config.head, made.shape, Standard.empty(made.shape.layers, made.shape.width))
        head.load_weights(own, where=made.trial)
        heads.append(head)
    return heads


def data_of(store: Store) -> TrainingData:
    """All rows, and nobody who judges."""
    split, standard = joined_split(store), Scanner(store.path).training_data([]).standard
    rows = open_rows(split, WantedStates(inputs=[standard], device=torch.device("cpu")))
    return TrainingData(
        rows=rows, standard=standard, labels_ND=labels_of(split), kind=store.task.kind, judge=None
    )


def fresh(data: TrainingData, one: Finalist, copy: int) -> HeadState:
    """That copy as a head by itself."""
    store = data.rows.split.store
    seed = seeds_of(one.config.training.seed, COPIES)[copy]
    config = TrialConfig.from_json({**one.config.to_json(), "seed": seed})
    constants_1C = constant_answers(data.labels_ND, data.kind, store.task.outputs, None)
    return HeadState.fresh(one.trial, config, head_shape(store), constants_1C)


def close(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> bool:
    """But for the numbers of their inputs, and the bias of spans, which rounding alone moves."""
    own = {name for name in one if not name.startswith(("inputs.", "bias_C"))}
    return all(torch.allclose(one[name], other[name], rtol=1e-3, atol=1e-4) for name in own)


@WHERE
def test_each_copy_is_the_head_that_learns_alone_from_all_rows(stores: dict[str, Store], where: str) -> None:
    one, data = finalist(), data_of(stores[where])
    (encore,) = play(stores[where], one)
    assert (encore.trial, encore.rows) == ("a", 2 * 144)
    for copy, weights in enumerate(copies_of(encore.bagged)):
        (end,) = train_segment(data, [fresh(data, one, copy)], one.position)
        assert isinstance(end, Trained)
        assert close(weights, end.state.weights)


def test_it_learns_from_select(stores: dict[str, Store]) -> None:
    one, data = finalist(), data_of(stores["spans"])
    labels_ND = data.labels_ND.copy()
    labels_ND[96:] = 0.0
    states = [fresh(data, one, 0)]
    ends = [train_out(each, states, {"a": 18})[0] for each in (data, replace(data, labels_ND=labels_ND))]
    kept = [end.state.best_weights for end in ends if isinstance(end, Trained)]
    assert not close(*kept)


@WHERE
@pytest.mark.parametrize(("passes", "averages"), [("auto", True), (4, False)])
def test_what_is_kept_is_the_running_mean_where_the_search_kept_it(
    stores: dict[str, Store], where: str, passes: int | str, averages: bool
) -> None:
    """It has no checks: nobody is left who could say which of its weights were best."""
    data, one = data_of(stores[where]), finalist(passes=passes)
    (end,) = train_out(data, [fresh(data, one, 0)], {"a": 20})
    assert isinstance(end, Trained)
    state = end.state
    assert (state.position, state.checks.best, end.checks, end.has_learned) == (20, None, (), False)
    kept = state.average if averages else state.weights
    assert all(torch.equal(tensor, kept[name]) for name, tensor in state.best_weights.items())
    assert not averages or not close(state.best_weights, state.weights)


@WHERE
def test_each_leaves_at_its_stop_whoever_goes_on(stores: dict[str, Store], where: str) -> None:
    """And heads on less data have passes of their own."""
    three = [
        finalist("short", position=PASS),
        finalist("long", position=3 * PASS, passes="auto"),
        finalist("part", position=6, data_fraction=0.3),
    ]
    together = play(stores[where], *three)
    assert [encore.rows for encore in together] == [144, 3 * 144, 2 * 48]
    for one, encore in zip(three, together, strict=True):
        (single,) = play(stores[where], one)
        for ours, theirs in zip(copies_of(encore.bagged), copies_of(single.bagged), strict=True):
            assert close(ours, theirs)


def test_it_goes_for_as_many_passes_as_the_search_where_that_had_fewer_rows(stores: dict[str, Store]) -> None:
    """Without folds, heads of a search learn from train alone, here six micro-batches."""
    (encore,) = play(stores["one token"], finalist(position=2 * 6), folds=1)
    assert encore.rows == 2 * 144


@WHERE
def test_the_mean_of_its_copies_answers_and_the_first_beside_it(stores: dict[str, Store], where: str) -> None:
    store, one = stores[where], finalist()
    (encore,) = play(store, one)
    heads, (first,) = (heads_in(made, one.config) for made in (encore.bagged, encore.single))
    assert (encore.bagged.copies, encore.single.copies) == (COPIES, 1)
    assert encore.bagged.parameters == COPIES * encore.single.parameters == COPIES * first.parameter_count()
    assert close(dict(first.state_dict()), dict(heads[0].state_dict()))
    (split,) = store.splits(Role.REPORT)
    each = score_split(heads, split)
    for made, expected in (encore.bagged, mean_logits(each, store.task.kind)), (encore.single, each[0]):
        for found, logits in zip(made.report.logits, expected, strict=True):
            np.testing.assert_allclose(found, logits, rtol=1e-3, atol=1e-4)
        evaluation = store.task.evaluate(role_index(store, Role.REPORT), list(made.report.logits))
        assert (made.report.score, made.report.interval) == (evaluation.score, evaluation.interval())


def test_one_that_diverges_is_lost_alone(stores: dict[str, Store]) -> None:
    wild = finalist("wild", learning_rate=1e30)
    found = Scanner(stores["one token"].path, folds=3).finale([wild, finalist("tame")])
    assert [type(each) for each in found] == [Diverged, FinalistResult]
    assert [each.trial for each in found] == ["wild", "tame"]
    (lost,) = Scanner(stores["one token"].path, folds=3).finale([wild])
    assert isinstance(lost, Diverged)


def test_a_finalist_on_a_share_of_the_data_begins_from_the_labels_of_that(
    stores: dict[str, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    known: list[int] = []

    def watched(labels_ND: np.ndarray, *more: Any) -> Tensor:
        known.append(len(labels_ND))
        return constant_answers(labels_ND, *more)

    monkeypatch.setattr("bv_search.scan.scanner.constant_answers", watched)
    play(stores["one token"], finalist("half", data_fraction=0.5), finalist("whole"))
    assert known == [80, 144]
