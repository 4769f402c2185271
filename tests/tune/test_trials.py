"""The trials of a search: those of earlier sessions, and those to come."""

from pathlib import Path
from typing import Any

import pytest

from bv_search.store.store import Store
from bv_search.tune.config import TuneConfig
from bv_search.tune.resume import read_past
from bv_search.tune.study import OpenStudy, open_study
from bv_search.tune.trials import Trials, open_searcher, teach

HEAD = {"head": {"kind": "adapter", "size": 4}, "learning_rate": 0.002}
SPACE = """
space: {head: {kind: adapter, size: {choice: [4, 8]}}, learning_rate: {uniform: [0.001, 0.01]}}
start:
  - {head: {kind: adapter, size: 8}, learning_rate: 0.003}
  - {head: {kind: adapter, size: 4}, learning_rate: 0.004}
"""


@pytest.fixture
def study(class_store: Store, tmp_path: Path) -> OpenStudy:
    (tmp_path / "mine.yaml").write_text(SPACE)
    space, runs = str(tmp_path / "mine.yaml"), tmp_path / "runs"
    return open_study(
        TuneConfig(space=space, store=class_store.path, searcher="random", trials=5, runs=runs, name="it")
    )


def trials_of(study: OpenStudy, *events: dict[str, Any]) -> Trials:
    study.run.journal.append(*events)
    return Trials(study=study, past=read_past(study.run.events()), told=[])


def suggest(trial: str, **more: Any) -> dict[str, Any]:
    return {"event": "suggest", "trial": trial, "config": HEAD, **more}


def finish(trial: str) -> dict[str, Any]:
    worth = {"score": 0.5, "loss": 0.5, "report": {"score": 0.5}}
    return {"event": "finish", "trial": trial, "status": "done", **worth}


def test_a_new_search_has_all_of_its_trials_to_come(study: OpenStudy) -> None:
    trials = trials_of(study)
    assert list(trials.numbers) == [1, 2, 3, 4, 5]
    assert [point["learning_rate"] for point in trials.start] == [0.003, 0.004]
    assert trials.resumed == []
    assert trials.is_any_left


def test_a_resumed_one_goes_on_with_those_that_were_begun(study: OpenStudy) -> None:
    trials = trials_of(study, suggest("0001"), finish("0001"), suggest("0002"))
    assert [each.trial for each in trials.resumed] == ["0002"]
    assert list(trials.numbers) == [3, 4, 5]
    assert trials.start == [], "the first two have taken its starting points"


def test_rungs_of_the_ladder_take_no_number_and_are_trained_once(study: OpenStudy) -> None:
    rung = study.ladder[-1]
    before = trials_of(study)
    begun = {**suggest(rung.trial, rung=rung.rung), "config": rung.to_json()}
    after = trials_of(study, begun, finish(rung.trial))
    assert rung.trial in {each.trial for each in before.rungs}
    assert rung.trial not in {each.trial for each in after.rungs}
    assert list(after.numbers) == [1, 2, 3, 4, 5]


def test_a_searcher_is_taught_what_earlier_sessions_found(study: OpenStudy) -> None:
    trials = trials_of(study, suggest("0001"), finish("0001"), suggest("0002"))
    searcher = open_searcher(study, [])
    teach(searcher, trials.past)
    assert [(number, score) for number, (_, score) in searcher.told.items()] == [(1, 0.5)]
    assert list(searcher.pending) == [2]
