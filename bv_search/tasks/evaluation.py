"""Evaluations: what happened on every row, the figures made of it, and how far they can be trusted."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Outcome = npt.NDArray[
    np.float64
]  # (rows, columns): columns are the kind's own, e.g. predicted and gold class
ScoreOf = Callable[[Outcome], float]
Counts = npt.NDArray[np.int64]

INTERVAL = (2.5, 97.5)  # percentiles: 95 %
FEWEST = 6  # groups that two differ in: all of five speak for one of them by chance once in sixteen times
TIE = "a tie"  # of two whose difference may be none, as far as its interval says


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The outcome of every row, and the figures that summarise it; `score` is the task's own."""

    rows: tuple[str, ...]
    groups: npt.NDArray[np.uint64]  # rows of one number share a passage or a text
    outcome: Outcome
    metrics: dict[str, float]
    score: float
    score_of: ScoreOf
    mean_of: npt.NDArray[np.float64] | None = None  # of every row, where the score is their mean
    counted: Callable[[Outcome], Callable[[Counts], float]] | None = None  # the score of rows taken so often

    def interval(self, samples: int = 1000, seed: int = 0) -> tuple[float, float]:
        """Where the score would fall, 95 times in 100, with other groups of rows drawn like these.

        Questions on one passage are right or wrong together, so whole groups are drawn; where all rows
        are of one group, rows are. It is about these rows only: not about another training.
        """
        draws = self.draws(samples, seed)
        low, high = _interval(draws, self.score, _count(_codes(self.groups)))
        return max(low, 0.0 if draws.min() >= 0 else -1.0), min(high, 1.0)

    def draws(self, samples: int = 400, seed: int = 0) -> npt.NDArray[np.float64]:
        """The score with other groups of rows drawn like these: the same draws, whatever is scored."""
        return _resample([self], samples, seed)[:, 0]


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
        return "worse" if self.high < 0 else TIE

    def beside(self, other: str) -> str:
        """The same in a sentence."""
        return f"{self.word} {'with' if self.word == TIE else 'than'} {other}"

    def __str__(self) -> str:
        value, low, high = (f"{each:+.4f}".replace("-", "−") for each in self)
        return f"{value} ({low} to {high})"

    def to_json(self) -> dict[str, Any]:
        return {"difference": self.value, "interval": [self.low, self.high], "verdict": self.word}


def difference(ours: Evaluation, theirs: Evaluation, samples: int = 1000, seed: int = 0) -> Delta:
    """`ours` minus `theirs`, with the 95 % interval of that difference on other groups of rows like these.

    Paired: both are scored on the same groups drawn, so what makes a row hard for both cancels out. Where
    they differ in few groups, the difference may be none.
    """
    theirs = _aligned(theirs, ours.rows)
    scores_S2 = _resample([ours, theirs], samples, seed)
    value = ours.score - theirs.score
    codes_R = _codes(ours.groups)
    low, high = _interval(scores_S2[:, 0] - scores_S2[:, 1], value, _count(codes_R))
    if _count(codes_R[_differ(ours, theirs)]) < FEWEST:
        low, high = min(low, 0.0), max(high, 0.0)
    return Delta(value, low, high)


def _differ(ours: Evaluation, theirs: Evaluation) -> npt.NDArray[np.bool_]:
    """The rows that the two are not equally right on, or do not say the same of."""
    differ: npt.NDArray[np.bool_] = (ours.outcome != theirs.outcome).any(axis=1)
    if ours.mean_of is not None and theirs.mean_of is not None:
        differ = ours.mean_of != theirs.mean_of
    return differ


def _aligned(evaluation: Evaluation, rows: tuple[str, ...]) -> Evaluation:
    if evaluation.rows == rows:
        return evaluation
    place = {row: number for number, row in enumerate(evaluation.rows)}
    assert set(place) == set(rows), "a paired difference needs the same rows on both sides"
    order = [place[row] for row in rows]
    mean_of = None if evaluation.mean_of is None else evaluation.mean_of[order]
    return replace(
        evaluation,
        rows=rows,
        groups=evaluation.groups[order],
        outcome=evaluation.outcome[order],
        mean_of=mean_of,
    )


def _resample(evaluations: Sequence[Evaluation], samples: int, seed: int) -> npt.NDArray[np.float64]:
    """Scores of evaluations of the same rows, (samples, evaluations), each sample of as many groups."""
    codes_R = _codes(evaluations[0].groups)
    count = int(codes_R.max()) + 1
    scorers = [_scorer(evaluation, codes_R) for evaluation in evaluations]
    scores = np.empty((samples, len(evaluations)))
    rng = np.random.default_rng(seed)
    for number in range(samples):
        times_G = np.bincount(rng.integers(count, size=count), minlength=count)
        scores[number] = [score(times_G) for score in scorers]
    return scores


def _codes(groups: npt.NDArray[np.uint64]) -> Counts:
    """Groups by number, in the order of their first rows."""
    encoded = pa.array(groups).dictionary_encode()
    if len(encoded.dictionary) == 1:  # which would be drawn over and over
        return np.arange(len(groups))
    codes: Counts = encoded.indices.to_numpy().astype(np.int64)
    return codes


def _scorer(evaluation: Evaluation, codes_R: Counts) -> Callable[[Counts], float]:
    """The score of a sample, given how often each group is in it."""
    if evaluation.mean_of is not None:  # sums of the groups are enough
        sums_G = np.bincount(codes_R, weights=evaluation.mean_of)
        sizes_G = np.bincount(codes_R).astype(np.float64)
        return lambda times_G: float((times_G @ sums_G) / (times_G @ sizes_G))
    if evaluation.counted is not None:
        score = evaluation.counted(evaluation.outcome)
        return lambda times_G: score(times_G[codes_R])
    rows = np.arange(len(codes_R))
    return lambda times_G: evaluation.score_of(evaluation.outcome[np.repeat(rows, times_G[codes_R])])


def _count(codes: Counts) -> int:
    return len(np.unique(codes))


def _interval(draws: npt.NDArray[np.float64], value: float, groups: int) -> tuple[float, float]:
    """Of so many groups: drawn from few, they differ less than others would, as Student's t says."""
    from scipy.special import ndtri, stdtrit  # a tenth of a second, for commands that score nothing

    low, high = np.percentile(draws, INTERVAL)
    if groups < 2:
        return float(low), float(high)
    wider = stdtrit(groups - 1, 0.975) / ndtri(0.975) * (groups / (groups - 1)) ** 0.5
    return float(value + wider * (low - value)), float(value + wider * (high - value))
