"""Luck: what the best of many heads owes to the rows that chose it."""

import time
from collections.abc import Sequence

import numpy as np
import pytest

from bv_search.run.luck import Luck
from bv_search.run.trial import TrialRecord
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.metrics import accuracy


def record(trial: str, right_R: np.ndarray, of: str | None = None) -> TrialRecord:
    outcome = np.stack([right_R, np.ones(len(right_R))], axis=1).astype(np.float64)
    evaluation = Evaluation(
        rows=tuple(map(str, range(len(right_R)))),
        groups=np.arange(len(right_R), dtype=np.uint64),
        outcome=outcome,
        metrics={},
        score=accuracy(outcome),
        score_of=accuracy,
        mean_of=right_R.astype(np.float64),
    )
    return TrialRecord(
        id=trial,
        config={},
        of=of,
        status="done",
        score=evaluation.score,
        loss=0.5,
        report_score=0.5,
        draws=tuple(evaluation.draws()),
    )


def heads(*shares: float, rows: int = 400, seed: int = 0) -> list[TrialRecord]:
    """Each is right by chance alone, so often."""
    rng = np.random.default_rng(seed)
    return [record(f"{n:04d}", rng.random(rows) < share) for n, share in enumerate(shares)]


def found(records: Sequence[TrialRecord]) -> Luck:
    luck = Luck.of(records)
    assert luck is not None
    return luck


def test_of_heads_that_are_equally_good_the_best_is_luck() -> None:
    """Of 40 with .7 each the best has .75 or so; of what is too much the bootstrap sees most."""
    lucks = [found(heads(*[0.7] * 40, seed=seed)) for seed in range(8)]
    too_much = np.mean([luck.score for luck in lucks]) - 0.7
    assert 0.04 < too_much < 0.06
    assert 0.55 * too_much < np.mean([luck.share for luck in lucks]) < 0.8 * too_much
    assert {luck.heads for luck in lucks} == {40}


def test_more_heads_have_more_luck_and_more_rows_less() -> None:
    few, many, sure = (found(heads(*[0.7] * k, rows=n)) for k, n in ((3, 400), (40, 400), (40, 6400)))
    assert sure.share < few.share < many.share
    assert sure.share == pytest.approx(many.share / 4, rel=0.4)


def test_a_head_that_is_far_ahead_needs_no_luck() -> None:
    assert found(heads(0.9, *[0.6] * 40)).share == pytest.approx(0.0, abs=0.002)
    assert found(heads(0.7)).share == pytest.approx(0.0, abs=0.002)


def test_what_a_trial_became_is_no_other_head() -> None:
    ours = heads(0.7, 0.7)
    more = [*ours, record("0000-bagged", np.ones(400) > 0, of="0000")]
    assert found(more) == found(ours)


def test_it_is_said_as_what_it_is() -> None:
    assert str(Luck(score=0.74117, share=0.0107, heads=41)) == (
        "select 0.7412, of which about 0.011 is luck: the best of 41 heads"
    )
    assert Luck.of([]) is None


def test_many_heads_on_many_rows_take_no_time() -> None:
    records = heads(*[0.7] * 64, rows=3000)
    began = time.process_time()
    found(records)
    assert time.process_time() - began < 0.2
