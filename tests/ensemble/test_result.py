"""What an ensemble came to is said no more surely than it is."""

import json
from dataclasses import replace

import pytest

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.ensemble.result import SHOWN, EnsembleResult
from bv_search.model.combine import Method
from bv_search.run import Run
from bv_search.tasks.evaluation import Delta
from tests.model.small_run import Small, teach


@pytest.fixture
def result(small: Small, run: Run) -> EnsembleResult:
    """Of two minds that complement each other."""
    for seed, trial in enumerate(("0001", "0002")):
        teach(small, run, trial, 0.6, seed)
    return decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), Progress(quiet=True))


def test_the_verdict_is_what_the_interval_allows(result: EnsembleResult) -> None:
    single = result.best_single
    tie = replace(single, delta=Delta(value=0.01, low=-0.01, high=0.03))
    better = replace(single, delta=Delta(value=0.02, low=0.01, high=0.03))
    assert tie.verdict().startswith(f"a tie with {single.name}: ")
    assert better.verdict().startswith(f"better than {single.name}: ")


def test_a_program_gets_members_scores_and_all_that_was_compared(result: EnsembleResult) -> None:
    said = json.loads(json.dumps(result.to_json()))
    assert said["best_single"] == result.best_single.evaluation.score
    assert said["compared"]["best_single"]["delta"] == pytest.approx(said["score"] - said["best_single"])
    assert said["compared"]["ladder"]["verdict"] in {"better", "worse", "a tie"}
    assert said["baseline"] == said["compared"]["baseline"]["score"]
    many = replace(result, considered=result.considered * SHOWN)
    assert len(many.to_json()["considered"]) == SHOWN


def test_a_reader_sees_who_weighs_how_much(result: EnsembleResult) -> None:
    members = ({"name": "a", "weight": 1.0}, {"name": "b", "weight": 3.0})
    assert ": greedy of a, b ×3\n" in replace(result, members=members).text()


def test_of_one_model_alone_no_more_is_said_than_was_looked_at(result: EnsembleResult) -> None:
    single = replace(result.selection, method=Method.SINGLE, members=((0, 1.0),))
    member = {"name": "a", "run": ".", "trial": "a", "weight": 1.0}
    alone = replace(result, selection=single, members=(member,))
    for considered, said in (
        ([single], "adding any one model to a did not lower the loss on these rows"),
        ([single, replace(single, method=Method.MEAN)], "no mean of the best models had a lower loss than a"),
        ([single, replace(single, method=Method.MAX)], "no maximum of the best models scored higher than a"),
    ):
        assert said in replace(alone, considered=tuple(considered)).text()


def test_the_encoder_is_compared_with_once(result: EnsembleResult) -> None:
    assert result.baseline is not None
    text = replace(result, best_single=result.baseline).text()
    assert text.count(result.baseline.verdict()) == 1


def test_in_a_notebook_names_cannot_put_markup_on_the_page(result: EnsembleResult) -> None:
    forged = replace(result, members=({"name": "<b>", "weight": 1.0},))
    assert "&lt;b&gt;" in forged._repr_html_()
    assert "<b>" not in forged._repr_html_()


def test_a_head_of_another_run_is_no_rung_of_this_one_by_its_name(result: EnsembleResult) -> None:
    assert result.gain is not None
    over = replace(result.gain, over=replace(result.gain.over, trial="probe-1"))
    single = replace(result, selection=replace(result.selection, method=Method.SINGLE), gain=over)
    for place, is_rung in ((".", True), ("../second", False)):
        member = {"name": "it", "run": place, "trial": "probe-1", "weight": 1.0}
        text = replace(single, members=(member,)).text()
        assert ("it is the best of the ladder" in text) is is_rung
