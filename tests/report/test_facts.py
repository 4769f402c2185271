"""The figures of a report are those of its run, its ladder and its ensemble."""

from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.errors import RunError
from bv_search.report.facts import gather
from bv_search.run import Run, Study
from tests.model.small_run import Small, bag, teach


def test_a_run_without_a_finished_head_has_none(small: Small, tmp_path: Path) -> None:
    study = {name: value for name, value in small.run.study.to_json().items() if name != "id"}
    with pytest.raises(RunError, match="has no finished trial"):
        gather(Run.create(tmp_path / "empty", Study(**study)))


def test_searched_heads_are_no_rungs_and_nothing_that_was_made_of_trials(run: Run) -> None:
    bag(run, "0003")
    facts = gather(run)
    assert [record.id for record in facts.searched] == ["0001", "0002", "0003"]
    assert "0003-bagged" in {record.id for record in facts.records}


def test_the_best_of_select_comes_first(small: Small, run: Run) -> None:
    teach(small, run, "0002", 0.95)
    assert gather(run).ranked[0].id == "0002"


def test_those_that_failed_are_known(run: Run) -> None:
    assert gather(run).failed == []
    run.journal.append({"event": "suggest", "trial": "0009", "config": {"head": {"kind": "pooling"}}})
    run.journal.append({"event": "finish", "trial": "0009", "status": "failed", "reason": "diverged"})
    assert [record.id for record in gather(run).failed] == ["0009"]


def test_an_ensemble_says_what_it_was_chosen_on(run: Run) -> None:
    assert gather(run).ensemble_choosers is None
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), Progress(quiet=True))
    facts = gather(run)
    assert facts.ensemble_choosers == str(facts.choosers)
