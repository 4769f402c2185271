"""Metrics of classification and regression, over an outcome of (predicted, gold) columns.

Each is a plain function, so that a bootstrap can call it a thousand times. A figure that the data do
not define (a correlation with a constant) is 0.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bv_search.tasks.evaluation import Counts, Outcome

Vector = npt.NDArray[np.float64]

ROUNDING = 1e-12  # differences, as a share of the largest value, that are rounding alone


def accuracy(outcome: Outcome) -> float:
    return float(np.mean(outcome[:, 0] == outcome[:, 1])) if len(outcome) else 0.0


def f1(outcome: Outcome) -> float:
    """F1 of class 1, as GLUE scores MRPC and QQP."""
    return _f1_of(outcome, 1.0)


def macro_f1(outcome: Outcome) -> float:
    """The mean of the F1 of every class that is predicted or true."""
    classes, places = np.unique(outcome[:, :2], return_inverse=True)
    if not len(classes):
        return 0.0
    predicted_N, gold_N = places.reshape(-1, 2).T
    totals = np.bincount(places.reshape(-1), minlength=len(classes))
    right = np.bincount(gold_N[predicted_N == gold_N], minlength=len(classes))
    return float(np.mean(2.0 * right / totals))


def _f1_of(outcome: Outcome, positive: float) -> float:
    predicted, gold = outcome[:, 0] == positive, outcome[:, 1] == positive
    total = int(predicted.sum() + gold.sum())
    return float(2.0 * np.sum(predicted & gold) / total) if total else 0.0


def matthews(outcome: Outcome) -> float:
    """Matthews' correlation of two classes (CoLA): 0 for a guess, 1 for the truth."""
    return _correlation(outcome[:, 0] == 1.0, outcome[:, 1] == 1.0)


def pearson(outcome: Outcome) -> float:
    return _correlation(outcome[:, 0], outcome[:, 1])


def spearman(outcome: Outcome) -> float:
    if _is_constant(outcome[:, 0]) or _is_constant(outcome[:, 1]):  # ranks would hide it
        return 0.0
    return _correlation(_ranks(outcome[:, 0]), _ranks(outcome[:, 1]))


def pearson_spearman(outcome: Outcome) -> float:
    """The mean of the two correlations, which is STS-B's one number."""
    return (pearson(outcome) + spearman(outcome)) / 2


def _correlation(left: npt.NDArray[np.generic], right: npt.NDArray[np.generic]) -> float:
    x, y = left.astype(np.float64), right.astype(np.float64)
    if _is_constant(x) or _is_constant(y):
        return 0.0
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt(x @ x) * np.sqrt(y @ y))
    return float(x @ y) / scale if scale > 0 else 0.0


def _is_constant(values: Vector) -> bool:
    """Rounding alone would correlate: the mean of some tenths is a bit beside a tenth."""
    return not len(values) or bool(np.ptp(values) <= ROUNDING * np.abs(values).max())


def _ranks(values: Vector) -> Vector:
    """Ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    ranks: Vector = (last - (counts - 1) / 2)[place]
    return ranks


class CountedCorrelations:
    """Of an outcome whose rows are taken so many times each: what a bootstrap asks a thousand times.

    Rows are sorted once; ranks of a sample follow from how often each value is in it.
    """

    def __init__(self, outcome: Outcome) -> None:
        self._columns = outcome[:, 0], outcome[:, 1]
        self._places = [np.unique(column, return_inverse=True)[1] for column in self._columns]

    def pearson(self, times_R: Counts) -> float:
        return _counted_correlation(*self._columns, times_R)

    def spearman(self, times_R: Counts) -> float:
        left, right = (_counted_ranks(place, times_R) for place in self._places)
        return _counted_correlation(left, right, times_R)

    def pearson_spearman(self, times_R: Counts) -> float:
        return (self.pearson(times_R) + self.spearman(times_R)) / 2


def _counted_ranks(place_R: Counts, times_R: Counts) -> Vector:
    counts = np.bincount(place_R, weights=times_R)
    ranks: Vector = (np.cumsum(counts) - (counts - 1) / 2)[place_R]
    return ranks


def _counted_correlation(left: Vector, right: Vector, times_R: Counts | Vector) -> float:
    taken = times_R > 0
    if _is_constant(left[taken]) or _is_constant(right[taken]):
        return 0.0
    times = times_R.astype(np.float64)
    x, y = left - times @ left / times.sum(), right - times @ right / times.sum()
    scale = float(np.sqrt(times @ (x * x)) * np.sqrt(times @ (y * y)))
    return float(times @ (x * y)) / scale if scale > 0 else 0.0


class CountedClasses:
    """The same of classes: a table of who is taken for whom says all, and a sample counts its cells."""

    def __init__(self, outcome: Outcome) -> None:
        classes, places = np.unique(outcome[:, :2], return_inverse=True)
        count = max(1, len(classes))
        predicted_R, gold_R = places.reshape(-1, 2).T
        cells, self._cell_R = np.unique(predicted_R * count + gold_R, return_inverse=True)
        self._predicted, self._gold = np.divmod(cells, count)
        self._ones = np.flatnonzero(classes == 1.0)
        self._classes = count

    def accuracy(self, times_R: Counts) -> float:
        right, totals = self._tally(times_R)
        return float(2.0 * right.sum() / totals.sum())

    def f1(self, times_R: Counts) -> float:
        right, totals = (each[self._ones].sum() for each in self._tally(times_R))
        return float(2.0 * right / totals) if totals else 0.0

    def macro_f1(self, times_R: Counts) -> float:
        right, totals = self._tally(times_R)
        there = totals > 0
        return float(np.mean(2.0 * right[there] / totals[there]))

    def matthews(self, times_R: Counts) -> float:
        times = self._times(times_R)
        cells = self._predicted, self._gold
        predicted, true = (np.isin(each, self._ones).astype(np.float64) for each in cells)
        return _counted_correlation(predicted, true, times)

    def _times(self, times_R: Counts) -> Vector:
        return _sum_by(self._cell_R, times_R, len(self._predicted))

    def _tally(self, times_R: Counts) -> tuple[Vector, Vector]:
        """Of each class: rows that are rightly taken for it; how often it is predicted or true."""
        times, is_right = self._times(times_R), self._predicted == self._gold
        right = _sum_by(self._gold[is_right], times[is_right], self._classes)
        predicted, true = (_sum_by(each, times, self._classes) for each in (self._predicted, self._gold))
        return right, predicted + true


def _sum_by(codes: Counts, weights: Counts | Vector, count: int) -> Vector:
    return np.bincount(codes, weights=weights, minlength=count).astype(np.float64)


CLASS_METRICS: dict[str, Callable[[Outcome], float]] = {
    "accuracy": accuracy,
    "f1": f1,
    "macro_f1": macro_f1,
    "matthews": matthews,
}
VALUE_METRICS: dict[str, Callable[[Outcome], float]] = {
    "pearson": pearson,
    "spearman": spearman,
    "pearson_spearman": pearson_spearman,
}
COUNTED_METRICS: dict[str, Callable[[Outcome], Callable[[Counts], float]]] = {
    "accuracy": lambda outcome: CountedClasses(outcome).accuracy,
    "f1": lambda outcome: CountedClasses(outcome).f1,
    "macro_f1": lambda outcome: CountedClasses(outcome).macro_f1,
    "matthews": lambda outcome: CountedClasses(outcome).matthews,
    "pearson": lambda outcome: CountedCorrelations(outcome).pearson,
    "spearman": lambda outcome: CountedCorrelations(outcome).spearman,
    "pearson_spearman": lambda outcome: CountedCorrelations(outcome).pearson_spearman,
}
