"""Evaluations: what happened on every row, the figures made of it, and how far they can be trusted."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Outcome = npt.NDArray[
    np.float64
]  # (rows, columns): columns are the kind's own, e.g. predicted and gold class
ScoreOf = Callable[[Outcome], float]

INTERVAL = (2.5, 97.5)  # percentiles: 95 %


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The outcome of every row, and the figures that summarise it; `score` is the task's own."""

    rows: tuple[str, ...]
    outcome: Outcome
    metrics: dict[str, float]
    score: float
    score_of: ScoreOf

    def interval(self, samples: int = 1000, seed: int = 0) -> tuple[float, float]:
        """Where the score would fall, 95 times in 100, on other rows of the same kind."""
        rng = np.random.default_rng(seed)
        count = len(self.rows)
        scores = [
            self.score_of(self.outcome[rng.integers(count, size=count)]) if count else 0.0
            for _ in range(samples)
        ]
        return _percentiles(scores)


class Delta(NamedTuple):
    """One score minus another on the same rows, with its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def word(self) -> str:
        """No more than the interval allows."""
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "not better"

    def __str__(self) -> str:
        value, low, high = (f"{each:+.4f}".replace("-", "−") for each in self)
        return f"{value} ({low} to {high})"

    def to_json(self) -> dict[str, Any]:
        return {"difference": self.value, "interval": [self.low, self.high], "verdict": self.word}


def difference(ours: Evaluation, theirs: Evaluation, samples: int = 1000, seed: int = 0) -> Delta:
    """`ours` minus `theirs`, with the 95 % interval of that difference on the same rows.

    Paired: both are scored on the same resampled rows, so what makes a row hard for both cancels out.
    """
    other = _aligned(theirs, ours.rows)
    rng = np.random.default_rng(seed)
    count = len(ours.rows)
    deltas = []
    for _ in range(samples):
        sample = rng.integers(count, size=count) if count else np.zeros(0, dtype=np.int64)
        deltas.append(ours.score_of(ours.outcome[sample]) - theirs.score_of(other[sample]))
    return Delta(ours.score - theirs.score, *_percentiles(deltas))


def _aligned(evaluation: Evaluation, rows: tuple[str, ...]) -> Outcome:
    if evaluation.rows == rows:
        return evaluation.outcome
    place = {row: number for number, row in enumerate(evaluation.rows)}
    assert set(place) == set(rows), "a paired difference needs the same rows on both sides"
    return evaluation.outcome[[place[row] for row in rows]]


def _percentiles(values: list[float]) -> tuple[float, float]:
    low, high = np.percentile(values, INTERVAL)
    return float(low), float(high)
