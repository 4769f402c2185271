"""Opening a study: what a resumed run takes from its folder, and what it may be told again."""

import shutil
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bv_search.errors import RunError, UserError
from bv_search.run.roles import encoder_logits
from bv_search.run.study import FRONT, Study
from bv_search.scan import folds as folds_module
from bv_search.scan.folds import Folds
from bv_search.scan.store_view import learned_split
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tasks.window import SCORING
from bv_search.tune import study as study_module
from bv_search.tune.config import More, TuneConfig
from bv_search.tune.study import OpenStudy, baseline_of, has_folds, open_study
from tests.stores import make_class_store, make_value_store

SPACE = "space: {head: {kind: adapter, size: %d}, learning_rate: {uniform: [0.001, 0.01]}}"


@pytest.fixture
def space(tmp_path: Path) -> str:
    path = tmp_path / "mine.yaml"
    path.write_text(SPACE % 4)
    return str(path)


@pytest.fixture
def begun(space: str, class_store: Store, tmp_path: Path) -> OpenStudy:
    runs = tmp_path / "runs"
    config = TuneConfig(space=space, store=class_store.path, name="it", searcher="random", seed=3, runs=runs)
    return open_study(config)


def resume(begun: OpenStudy, **said: Any) -> OpenStudy:
    return open_study(TuneConfig(name="it", resume=True, runs=begun.run.path.parent, **said))


def test_a_resumed_run_is_as_it_was_begun(begun: OpenStudy) -> None:
    resumed = resume(begun)
    assert resumed.run.study == begun.run.study
    assert resumed.space.document == begun.space.document


def test_a_run_may_do_without_the_ladder(begun: OpenStudy, space: str, tmp_path: Path) -> None:
    assert {rung.rung for rung in begun.ladder} == {"majority", "probe"}
    config = TuneConfig(
        space=space, store=begun.store.path, name="bare", ladder=False, runs=tmp_path / "runs"
    )
    assert open_study(config).ladder == []
    again = TuneConfig(name="bare", resume=True, runs=tmp_path / "runs")
    assert open_study(again).ladder == []
    with pytest.raises(UserError, match="--no-ladder of a run cannot change"):
        resume(begun, ladder=False)


def test_what_is_said_again_may_be_what_was_said(begun: OpenStudy, space: str) -> None:
    said: dict[str, Any] = {"space": space, "searcher": "random", "scheduler": "asha", "seed": 3}
    assert (
        resume(
            begun, store=begun.store.path, data_fraction=1.0, folds=5, finalists=0, seeds=5, **said
        ).run.study
        == begun.run.study
    )


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("searcher", "optuna"),
        ("scheduler", "none"),
        ("seed", 0),
        ("data_fraction", 0.5),
        ("folds", 3),
        ("finalists", 1),
        ("seeds", 4),
        ("max_parameters", 100),
        ("objective", "score,parameters"),
        ("space", "pooling"),
    ],
)
def test_what_was_begun_otherwise_is_refused(begun: OpenStudy, option: str, value: Any) -> None:
    with pytest.raises(UserError, match=f"--{option.replace('_', '-')} of a run cannot change"):
        resume(begun, **{option: value})


def test_a_space_that_was_edited_is_refused(begun: OpenStudy, space: str) -> None:
    Path(space).write_text(SPACE % 8)
    with pytest.raises(UserError, match="--space of a run cannot change"):
        resume(begun, space=space)


def test_a_run_changes_only_once_it_may_be_written_to(begun: OpenStudy) -> None:
    resumed = resume(begun, trials=More(8), pack="2")
    assert resumed.changes == {"trials": begun.run.study.trials + 8, "pack": "2"}
    assert resume(begun).run.study == begun.run.study
    assert resume(begun).changes == {}


def test_a_limit_is_the_space_of_the_run(space: str, class_store: Store, tmp_path: Path) -> None:
    said: dict[str, Any] = {"space": space, "max_parameters": 5000}
    begun = open_study(TuneConfig(store=class_store.path, name="it", runs=tmp_path, **said))
    assert begun.run.study.space["max_parameters"] == 5000
    for again in ({}, said, {"space": space}):
        assert resume(begun, **again).space.max_parameters == 5000
    Path(space).write_text(SPACE % 4 + "\nmax_parameters: 4000")
    with pytest.raises(UserError, match="--space of a run cannot change"):
        resume(begun, space=space)
    with pytest.raises(UserError, match="has its own max_parameters; leave out --max-parameters"):
        open_study(TuneConfig(store=class_store.path, runs=tmp_path, **said))


def test_a_front_is_looked_for_by_those_who_can(space: str, class_store: Store, tmp_path: Path) -> None:
    config = TuneConfig(space=space, store=class_store.path, name="it", runs=tmp_path, objective=FRONT)
    begun = open_study(config)
    study = resume(begun, objective=FRONT).run.study
    assert (study.searcher, study.scheduler, study.seeks_front) == ("optuna", "none", True)
    point = begun.space.draws(next(iter(begun.space.corners())))
    assert begun.size is not None
    assert begun.size(point) == begun.sizes.of(point) > 100


def test_what_ends_a_search_is_kept_and_may_be_changed(
    space: str, class_store: Store, tmp_path: Path
) -> None:
    config = TuneConfig(space=space, store=class_store.path, name="it", runs=tmp_path, target=0.0, patience=4)
    begun = open_study(config)
    study = resume(begun).run.study
    assert (study.target, study.patience, resume(begun).changes) == (0.0, 4, {})
    assert resume(begun, target=0.9, patience=8).changes == {"target": 0.9, "patience": 8}


def test_a_store_may_have_moved_but_not_changed(begun: OpenStudy, span_store: Store, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(begun.store.path, moved)
    resumed = resume(begun, store=str(moved))
    assert (resumed.store.path, resumed.changes) == (str(moved), {"store": str(moved)})
    with pytest.raises(RunError, match="made on another store"):
        resume(begun, store=span_store.path)


def test_a_search_whose_heads_learn_values_as_they_are_does_not_go_on(
    space: str, class_store: Store, tmp_path: Path
) -> None:
    """Of classes there are none, so that searches of older versions do."""
    for name, store in (("values", make_value_store(tmp_path / "store")), ("classes", class_store)):
        begun = open_study(TuneConfig(space=space, store=store.path, name=name, runs=tmp_path / "runs"))
        older = begun.run.study.to_json()
        del older["values"]
        begun.run.journal.append({"event": "study", "study": older})
    again = partial(TuneConfig, resume=True, runs=tmp_path / "runs")
    assert open_study(again(name="classes")).changes == {}
    with pytest.raises(RunError, match="an older version, whose heads learn values as"):
        open_study(again(name="values"))


def folds_of(store: Store, space: str, tmp_path: Path, **said: Any) -> int:
    config = TuneConfig(space=space, store=store.path, runs=tmp_path / "runs", **said)
    return open_study(config).run.study.folds


def test_few_rows_of_select_do_not_choose_alone(
    space: str, class_store: Store, span_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """48 rows are few; but a grid shows all heads, and takes no one's word for the best."""
    assert folds_of(class_store, space, tmp_path) == 5
    assert folds_of(class_store, space, tmp_path, folds=2) == 2
    assert folds_of(span_store, "adapters", tmp_path) == 1, "of many tokens"
    grid = tmp_path / "grid.yaml"
    grid.write_text("space: {head: {kind: adapter, size: {grid: [4, 8]}}, learning_rate: 0.01}")
    assert folds_of(class_store, str(grid), tmp_path) == 1
    assert folds_of(class_store, str(grid), tmp_path, folds=3) == 3
    monkeypatch.setattr(study_module, "FEW_ROWS", 48)
    assert folds_of(class_store, space, tmp_path) == 1


@pytest.mark.parametrize(
    ("space", "said", "finalists"),
    [
        ("classification", {}, 0),
        ("classification", {"folds": 1}, 3),
        ("classification", {"finalists": 2}, 2),
        ("classification", {"folds": 1, "finalists": 0}, 0),
        ("paper-classification", {}, 0),
        ("data-fraction", {}, 0),
        ("data-fraction", {"finalists": 2}, 2),
    ],
)
def test_a_search_has_finalists_and_a_table_none(
    class_store: Store, tmp_path: Path, space: str, said: dict[str, Any], finalists: int
) -> None:
    config = TuneConfig(space=space, store=class_store.path, runs=tmp_path / "runs", **said)
    study = open_study(config).run.study
    assert (study.finalists, study.seeds) == (finalists, study.folds if study.folds > 1 else 3)


def test_rows_of_few_groups_have_no_folds(
    space: str, class_store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folds_module, "fold_groups", lambda groups_N, seed, count: groups_N.astype(int) * 0)
    assert folds_of(class_store, space, tmp_path) == 1
    with pytest.raises(UserError, match=r"cannot be cut into 3 folds; expected rows in every fold.*--folds"):
        folds_of(class_store, space, tmp_path, folds=3)


def test_a_run_of_an_older_version_has_one_fold(begun: OpenStudy) -> None:
    value = begun.run.study.to_json()
    del value["folds"]
    assert Study.from_json(value).folds == 1


def test_the_encoder_is_judged_by_the_rows_that_judge_heads(space: str, tmp_path: Path) -> None:
    """Not by those that it was fine-tuned on; without folds, as its store says."""
    store = make_class_store(tmp_path / "store", windows=100, seen={"train": 30})
    said = {role: encoder_logits(store, role) or [] for role in (Role.TRAIN, Role.SELECT)}
    index = learned_split(store, folds=2).index_columns(SCORING).slice(30)
    expected = store.task.evaluate(index, [*said[Role.TRAIN][30:], *said[Role.SELECT]])

    config = TuneConfig(space=space, store=store.path, searcher="random", runs=tmp_path / "runs")
    baseline = open_study(config).run.study.baseline
    assert baseline is not None
    assert (baseline["select_score"], baseline["select"]) == (expected.score, expected.metrics)
    assert (baseline["report_score"], baseline["report"]) == (0.1, {"f1": 0.1})
    assert baseline_of(store, folds=1) == asdict(store.manifest.baseline)  # type: ignore[arg-type]


def test_a_fold_that_only_learned_rows_are_in_judges_nobody(
    class_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert has_folds(class_store, 2)
    found = Folds.of(class_store, 2)
    unjudged = replace(found, judged=found.judged[found.of_N[found.judged] == 0])
    monkeypatch.setattr(Folds, "of", lambda store, count: unjudged)
    assert not has_folds(class_store, 2)


def test_a_precision_that_is_found_again_may_be_asked_for_again(begun: OpenStudy) -> None:
    assert begun.run.study.precision
    assert resume(begun, precision="auto").run.study.precision == begun.run.study.precision


def test_a_full_grid_has_no_other_points(begun: OpenStudy, class_store: Store, tmp_path: Path) -> None:
    assert not begun.is_full_grid
    place = tmp_path / "grid.yaml"
    place.write_text("space: {head: {kind: pooling}, learning_rate: {grid: [0.1, 0.01]}, passes: 1}\n")
    for trials, is_full in ((None, True), (1, False)):
        config = TuneConfig(
            space=str(place), store=str(class_store.path), runs=tmp_path, name=f"grid-{trials}", trials=trials
        )
        assert open_study(config).is_full_grid is is_full
