"""What a scanner says of heads with copies: scores out of fold, answers by the mean."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load

from bv_search.heads.copies import part_tensors
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.scan.folds import Folds
from bv_search.scan.ladder import rungs_of
from bv_search.scan.outcome import Final, Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.score import score_split
from bv_search.scan.store_view import learned_split, role_index
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tasks.votes import mean_logits
from bv_search.tasks.window import SCORING
from tests.stores import make_class_store, make_span_store, make_value_store

FOLDS = 3


@pytest.fixture(scope="module", params=["spans", "classes", "one token", "values"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Store:
    place = tmp_path_factory.mktemp("scanner") / "store"
    match request.param:
        case "spans":
            return make_span_store(place, windows=102)
        case "values":
            return make_value_store(place, windows=102)
        case _:
            return make_class_store(
                place,
                windows=102,
                tokens=12 if request.param == "classes" else 1,
                seen={"train": 20},
                more={"dev2": ("report", 21)},
            )


def scanner_of(store: Store) -> Scanner:
    return Scanner(store.path, folds=FOLDS, device="cpu")


def start(trial: str, **settings: Any) -> Start:
    head = {"kind": "adapter", "size": 6}
    config = {"head": head, "learning_rate": 1e-2, "passes": "auto", **settings}
    return Start(trial=trial, config=TrialConfig.from_json(config))


def heads_in(final: Final, config: TrialConfig) -> list[Head]:
    heads = []
    for own in part_tensors(load(final.weights), final.copies):
        shape = final.shape
        standard = Standard.empty(shape.layers, shape.width, has_values=shape.is_value)
        inputs = standard if config.reads_standard else None
        head = Head(config.head, final.shape, inputs)
        head.load_weights(own, where=final.trial)
        heads.append(head)
    return heads


def logits_of(head: Head, store: Store, role: Role) -> list[np.ndarray]:
    return [logits for split in store.splits(role) for logits in score_split([head], split)[0]]


def check(final: Final, config: TrialConfig, store: Store) -> None:
    """All that it says follows from its weights."""
    heads = heads_in(final, config)
    assert len(heads) == final.copies == FOLDS
    assert final.parameters == sum(head.parameter_count() for head in heads)
    report = mean_logits([logits_of(head, store, Role.REPORT) for head in heads], store.task.kind)
    for found, expected in zip(final.report.logits, report, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    evaluation = store.task.evaluate(role_index(store, Role.REPORT), list(final.report.logits))
    assert (final.report.score, final.report.interval) == (evaluation.score, evaluation.interval())

    split, folds = learned_split(store, folds=FOLDS), Folds.of(store, FOLDS)
    train = split.windows - store.split("select").windows
    each = [logits_of(h, store, Role.TRAIN)[:train] + logits_of(h, store, Role.SELECT) for h in heads]
    own = [each[folds.of_N[window]][window] for window in folds.judged]
    index = split.index_columns(SCORING).take(folds.judged)
    assert final.select.score == pytest.approx(store.task.evaluate(index, own).score, abs=1e-4)
    assert final.select.ids == role_index(store, Role.SELECT)["id"].to_pylist()
    assert final.train is not None
    assert [*final.train.ids, *final.select.ids] == index["id"].to_pylist()
    for found, expected in zip([*final.train.logits, *final.select.logits], own, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("stop", [3, 40])
def test_a_final_is_what_its_copies_say(store: Store, stop: int) -> None:
    """Before its first check, and with the best weights that it had."""
    scanner = scanner_of(store)
    starts = [start("a", dropout=0.3), start("b", inputs="raw", head={"kind": "pooling"})]
    outcomes = scanner.segment(starts, stop, score=["a", "b"])
    finals = scanner.final([outcome.state or b"" for outcome in outcomes])
    for each, outcome, final in zip(starts, outcomes, finals, strict=True):
        assert isinstance(final, Final)
        assert outcome.found is not None
        assert (final.select.score, final.select.loss) == (outcome.found.score, outcome.found.loss)
        check(final, each.config, store)


def test_so_is_a_rung_that_is_solved(store: Store) -> None:
    scanner = scanner_of(store)
    rungs = [rung for rung in rungs_of(scanner.shape) if rung.is_solved]
    finals = scanner.solve([Start(trial=rung.trial, config=rung.config) for rung in rungs])
    for rung, final in zip(rungs, finals, strict=True):
        assert isinstance(final, Final)
        check(final, rung.config, store)


@pytest.mark.parametrize(("seen", "folds"), [(100, FOLDS), (0, 1)], ids=["known to the encoder", "learned"])
def test_of_rows_of_train_that_judge_nobody_nothing_is_said(tmp_path: Path, seen: int, folds: int) -> None:
    store = make_class_store(tmp_path / "store", windows=100, seen={"train": seen})
    scanner = Scanner(store.path, folds=folds, device="cpu")
    rungs = [rung for rung in rungs_of(scanner.shape) if rung.is_solved]
    finals = scanner.solve([Start(trial=rung.trial, config=rung.config) for rung in rungs])
    assert [final.train for final in finals if isinstance(final, Final)] == [None] * len(rungs)


def test_a_pack_has_room_for_copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bv_search.scan.capacity.free_memory", lambda _: 64 << 20)
    store = make_class_store(tmp_path / "store")
    configs = [start("a", head={"kind": "adapter", "size": 256}).config]
    one, three = (Scanner(store.path, folds=folds, device="cpu").capacity(configs) for folds in (1, 3))
    assert one // 3 <= three < one
