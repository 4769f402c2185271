"""The verdict: one sentence, and no more than the intervals allow."""

from dataclasses import replace

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.model.standings import Standings
from bv_search.report.conclusion import conclude, is_gain
from bv_search.report.facts import gather
from bv_search.run import Run
from bv_search.scan.ladder import PROBE
from bv_search.tasks.evaluation import Delta
from tests.model.small_run import Small, teach

QUIET = Progress(quiet=True)


def test_a_head_that_beats_the_ladder_is_a_gain(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    said = conclude(gather(run))
    assert said.startswith("A gain: the best head scores 0.")
    assert "better than the best linear probe" in said or "better than the encoder" in said
    assert said.count(".") - said.count("0.") <= 2  # one sentence; sizes have points, too


def test_a_head_that_a_probe_reaches_is_none(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    teach(small, run, "probe-2", 0.89)
    said = conclude(gather(run))
    assert said.startswith("No gain by searching: ")
    assert "a tie with the best linear probe" in said


def test_a_best_head_of_the_ladder_is_said_to_be_one(small: Small, run: Run) -> None:
    teach(small, run, "probe-2", 0.95)
    facts = gather(run)
    assert "needs no search: a rung of the ladder" in conclude(facts)
    assert not is_gain(facts, facts.standing("best head"))


def test_an_ensemble_is_told_beside_the_head(small: Small, run: Run) -> None:
    teach(small, run, "0001", 0.6, seed=1)
    teach(small, run, "0003", 0.7, seed=2)
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    facts = gather(run)
    ensemble = facts.standing("ensemble")
    assert ensemble is not None
    assert f"; the ensemble scores {ensemble.score:.3f}, " in conclude(facts)


def test_where_the_ensemble_alone_is_better_than_the_encoder_that_is_said(small: Small, run: Run) -> None:
    teach(small, run, "0001", 0.9, seed=1)
    teach(small, run, "0003", 0.9, seed=2)
    teach(small, run, "probe-2", 0.9, seed=3)
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    facts = gather(run)
    assert not conclude(facts).endswith("than the encoder.")  # as the best head is
    tied = [
        replace(each, delta=Delta(0.0, -0.1, 0.1)) if each.role == "best head" else each
        for each in facts.standings
    ]
    said = conclude(replace(facts, compared=replace(facts.compared, all=tied)))
    assert said.endswith(" and better than the encoder.")


def test_where_there_is_no_ladder_nothing_is_called_a_gain_or_none(run: Run) -> None:
    facts = gather(run)
    alone = Standings(all=[each for each in facts.standings if not each.is_rung])
    assert conclude(replace(facts, compared=alone)).startswith("The best head scores 0.")


def test_without_linear_probes_nothing_is_called_a_gain_either(small: Small, run: Run) -> None:
    teach(small, run, "0003", 0.9)
    facts = gather(run)
    known = replace(facts.compared, all=[each for each in facts.standings if each.role != PROBE])
    said = conclude(replace(facts, compared=known))
    assert said.startswith("The best head scores 0.")
    assert "better than the encoder" in said
