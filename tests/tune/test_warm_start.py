"""A warm start is told of the finished trials of earlier runs that can be compared."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bv_search.errors import RunError, UserError
from bv_search.run.folder import Run
from bv_search.store.store import Store
from bv_search.tune.config import TuneConfig
from bv_search.tune.study import OpenStudy, open_study
from bv_search.tune.trials import Trials
from bv_search.tune.warm_start import Told, read_told, sentence
from tests.stores import make_class_store, make_value_store

SPACE = "space: {head: {kind: adapter, size: {choice: [4, %d]}}, learning_rate: {uniform: [0.001, 0.01]}}"


def config_of(size: int, rate: float = 0.002) -> dict[str, Any]:
    return {"head": {"kind": "adapter", "size": size}, "learning_rate": rate}


def finish(run: Run, trial: str, score: float | None, **more: Any) -> None:
    suggest = {"event": "suggest", "trial": trial, "config": config_of(4), **more}
    end = {"event": "finish", "trial": trial, "status": "failed" if score is None else "done"}
    run.journal.append(suggest, {**end, "score": score, "loss": 0.5, "report": {"score": score}})


@pytest.fixture
def space(tmp_path: Path) -> Path:
    path = tmp_path / "mine.yaml"
    path.write_text(SPACE % 8)
    return path


def begin(space: Path, store: Store, name: str, **more: Any) -> OpenStudy:
    values: dict[str, Any] = {"searcher": "hyperopt", "runs": space.parent / "runs", **more}
    return open_study(TuneConfig(space=str(space), store=store.path, name=name, **values))


@pytest.fixture
def earlier(space: Path, class_store: Store) -> Run:
    run = begin(space, class_store, "earlier", searcher="random").run
    finish(run, "0001", 0.5)
    finish(run, "0002", None)
    finish(run, "0003", 0.75)
    finish(run, "probe-all", 0.9, rung="probe")
    run.journal.append({"event": "suggest", "trial": "0004", "config": config_of(8)})
    return run


def test_it_is_told_of_finished_trials_and_keeps_them(space: Path, class_store: Store, earlier: Run) -> None:
    study = begin(space, class_store, "new", warm_start=(earlier.path,))
    shutil.rmtree(earlier.path)
    told = read_told(study.run.events())
    assert [(each.trial, each.score, each.config) for each in told] == [
        ("0001", 0.5, config_of(4)),
        ("0003", 0.75, config_of(4)),
    ]
    assert sentence(told, class_store) == "told of 2 trials of earlier"
    assert study.run.trials() == [], "they are none of this run"


def test_a_finalist_is_told_of_once(space: Path, class_store: Store, earlier: Run) -> None:
    """What was made of it has its config and its score on select, and is no other point."""
    made = {"status": "done", "parameters": 9, "report": {"score": 0.7}}
    earlier.journal.append(
        {"event": "encore", "of": "0003", "rows": 9, "seconds": 1.0, "bagged": made, "single": made}
    )
    told = read_told(begin(space, class_store, "new", warm_start=(earlier.path,)).run.events())
    assert [each.trial for each in told] == ["0001", "0003"]


def test_scores_of_another_store_count_where_the_metric_is_the_same(
    space: Path, earlier: Run, tmp_path: Path
) -> None:
    other = make_class_store(tmp_path / "other", seed=1)
    told = read_told(begin(space, other, "new", warm_start=(earlier.path,)).run.events())
    assert sentence(told, other) == "told of 2 trials of earlier, 2 of them on another store"
    values = make_value_store(tmp_path / "values")
    with pytest.raises(RunError, match=r"earlier: has scores of another metric; expected .*; found accuracy"):
        begin(space, values, "newer", warm_start=(earlier.path,))


def test_what_cannot_be_told_is_refused_before_there_is_a_run(
    space: Path, class_store: Store, earlier: Run
) -> None:
    empty = begin(space, class_store, "empty").run
    for places, message in (
        ((earlier.path, earlier.path), "is named twice"),
        ((empty.path,), "empty: has no finished trial to tell of; leave it out of --warm-start"),
        ((space.parent / "nowhere",), "does not exist"),
    ):
        with pytest.raises(RunError, match=message):
            begin(space, class_store, "new", warm_start=places)
    with pytest.raises(UserError, match=r"a random search learns nothing.*--searcher hyperopt, optuna"):
        begin(space, class_store, "new", warm_start=(earlier.path,), searcher="random")
    space.write_text(SPACE % 16)
    with pytest.raises(RunError, match="earlier: searched another space; expected the choices of mine"):
        begin(space, class_store, "new", warm_start=(earlier.path,))
    assert sorted(path.name for path in earlier.path.parent.iterdir()) == ["earlier", "empty"]


def test_starting_points_that_were_told_are_not_begun_again(
    space: Path, class_store: Store, earlier: Run
) -> None:
    points = [config_of(4), config_of(8)]
    study = begin(space, class_store, "new", warm_start=(earlier.path,))
    study = replace(study, space=replace(study.space, start=tuple(points)))
    told = read_told(study.run.events())
    assert Trials(study=study, past=[], told=told).start == points[1:]
    assert Trials(study=study, past=[], told=[]).start == points


def test_a_resumed_run_is_told_no_more(space: Path, class_store: Store, earlier: Run) -> None:
    begin(space, class_store, "new")
    again = TuneConfig(name="new", resume=True, runs=earlier.path.parent, warm_start=(earlier.path,))
    with pytest.raises(UserError, match="a resumed run is told what it was begun with"):
        open_study(again)


def test_what_is_told_survives_its_event() -> None:
    told = Told(run="a", trial="0001", store="xxh3:0", config=config_of(4), score=0.5)
    assert read_told([{"event": "study"}, {**told.to_event(), "at": 1.0}]) == [told]
