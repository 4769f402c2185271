"""A run folder as Python sees it."""

import pytest

import bv_search as bv
from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.errors import UserError
from bv_search.run.folder import Run
from tests.model.small_run import Small, teach


def test_its_leaderboard_has_the_best_of_select_first(small: Small) -> None:
    table = bv.Run.open(small.run.path).leaderboard()
    assert len(table) == len(small.run.trials())
    ranked = [record.id for record in small.run.finished_trials()]
    assert table["trial"].tolist()[: len(ranked)] == ranked
    assert "<table" in bv.Run.open(small.run.path)._repr_html_()


def test_models_are_named_by_what_they_are(small: Small, run: Run) -> None:
    teach(small, run, "0002", 0.95)
    opened = bv.Run.open(run.path)
    assert [member.name for member in opened.best.members] == ["0002"]
    assert opened.best.parameters == opened.model("0002").parameters
    assert opened.smallest.parameters <= opened.best.parameters


def test_there_is_an_ensemble_once_it_was_chosen(run: Run) -> None:
    opened = bv.Run.open(run.path)
    with pytest.raises(UserError, match="ensemble"):
        _ = opened.combined
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), Progress(quiet=True))
    chosen = [member.name for member in opened.combined.members]
    assert chosen == [member["name"] for member in (run.ensemble() or {})["members"]]
    assert [member.name for member in opened.model().members] == chosen
