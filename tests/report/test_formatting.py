"""A report says no more in words than its numbers allow."""

import pytest

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.report.facts import gather
from bv_search.report.formatting import summary, verdict
from bv_search.report.page import render
from bv_search.run import Run
from bv_search.scan.ladder import ENCODER
from bv_search.scan.store_view import role_index
from bv_search.tasks.evaluation import Delta
from bv_search.tasks.row import Role
from tests.model.small_run import Small, teach

QUIET = Progress(quiet=True)


def test_the_encoder_is_judged_by_its_own_figures(small: Small) -> None:
    facts = gather(small.run)
    encoder = facts.standing(ENCODER)
    assert encoder is not None
    assert small.store.manifest.baseline is not None
    assert encoder.score == pytest.approx(small.store.manifest.baseline.report_score)
    assert (encoder.delta, verdict(encoder.delta)) == (None, "–")
    best = facts.standing("best head")
    assert best is not None
    assert best.score == facts.ranked[0].report_score
    assert best.delta is not None
    assert best.delta.value == pytest.approx(best.score - encoder.score)


def test_one_sentence_says_whether_a_head_is_a_gain_and_one_whether_the_ensemble_is(
    small: Small, run: Run
) -> None:
    teach(small, run, "0001", 0.6, seed=1)
    teach(small, run, "0003", 0.7, seed=2)
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    said = summary(gather(run))
    for subject in ("best head", "ensemble"):
        (line,) = [line for line in said if line.startswith(f"The {subject} is a gain: +")]
        assert line in render(gather(run)).markdown


def test_a_report_says_which_rows_chose(small: Small, run: Run) -> None:
    """Heads and ensemble each by their own: of runs together an ensemble may have fewer."""
    teach(small, run, "0001", 0.6, seed=1)
    teach(small, run, "0003", 0.7, seed=2)
    rows = set(role_index(small.store, Role.SELECT)["row"].to_pylist())
    assert f"were chosen on {len(rows)} rows of select." in render(gather(run)).markdown
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    chosen = run.ensemble() or {}
    run.write_ensemble({**chosen, "chosen_on": {"rows": 1234, "out_of_fold": True}})
    assert "It was chosen on 1,234 rows out of fold." in summary(gather(run))
    alone = {**chosen, "method": "single", "members": chosen["members"][:1]}
    run.write_ensemble(alone)
    name = chosen["members"][0]["name"]
    said = f"On {len(rows)} rows of select, adding any one model to {name} did not lower the loss."
    assert said in summary(gather(run))


def test_a_smallest_head_that_is_a_rung_is_said_to_be_one(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    teach(small, run, "probe-2", 0.89)
    (line,) = [line for line in summary(gather(run)) if line.startswith("The smallest head")]
    assert "is a rung of the ladder: probe-2, with " in line


@pytest.mark.parametrize(
    ("low", "high", "word"),
    [(0.01, 0.05, "better"), (-0.01, 0.05, "a tie"), (0.0, 0.05, "a tie"), (-0.05, -0.01, "worse")],
)
def test_no_more_is_said_than_the_interval_allows(low: float, high: float, word: str) -> None:
    assert Delta(value=0.02, low=low, high=high).word == word
