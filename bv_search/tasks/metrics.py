"""Metrics of classification and regression, over an outcome of (predicted, gold) columns.

Each is a plain function, so that a bootstrap can call it a thousand times. A figure that the data do
not define (a correlation with a constant) is 0.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from bv_search.tasks.evaluation import Outcome

Vector = npt.NDArray[np.float64]

ROUNDING = 1e-12  # differences, as a share of the largest value, that are rounding alone


def accuracy(outcome: Outcome) -> float:
    return float(np.mean(outcome[:, 0] == outcome[:, 1])) if len(outcome) else 0.0


def f1(outcome: Outcome) -> float:
    """F1 of class 1, as GLUE scores MRPC and QQP."""
    return _f1_of(outcome, 1.0)


def macro_f1(outcome: Outcome) -> float:
    """The mean of the F1 of every class that is predicted or true."""
    classes = np.unique(outcome[:, :2])
    return float(np.mean([_f1_of(outcome, each) for each in classes])) if len(classes) else 0.0


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
