"""Linear probes: the best linear head on given features, solved to its end instead of trained.

N rows, F features, P classes that the rows have, K columns that are solved for, C outputs.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

from bv_search.scan.solver import Doubles, Floats, Solver
from bv_search.tasks.task import Kind, Logits

Judge = Callable[[Sequence[Logits]], tuple[float, float]]
"""The score and the loss of what all lessons' probes say, logits_NC of each."""

PENALTIES = (1e4, 1e3, 1e2, 1e1, 1.0)
"""What scikit-learn calls alpha of Ridge and 1/C of LogisticRegression, from strong to weak."""

MOST_ROWS = 50_000
UNLIKELY = 20.0  # how far the logit of a class without rows is below the mean of the others


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What a probe learns from, of rows in a random order the first, and those that it is asked about."""

    x_NF: Floats  # standardised
    labels_N: Floats  # numbers of classes, or values
    kind: Kind
    outputs: int
    asked_NF: Floats


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A dense layer, and the penalty that it was solved with."""

    weights_FC: Floats
    bias_C: Floats
    penalty: float

    def answer(self, x_NF: Floats) -> Logits:
        logits_NC: Logits = x_NF @ self.weights_FC + self.bias_C
        return logits_NC


def fit_probes(
    lessons: Sequence[Callable[[], Lesson]],
    judge: Judge,
    *,
    penalties: Sequence[float] = PENALTIES,
    threads: int = 1,
) -> list[Probe]:
    """A probe of each lesson, all of one penalty: that with the best score of all answers together.

    Of equal ones it is that with the least loss. As many lessons as threads are in memory at once.
    """
    # a second thread changes rounding; where others used the cores too, it made the whole twenty times slower
    with threadpool_limits(1), ThreadPoolExecutor(threads) as pool:
        paths = list(pool.map(partial(_solve, penalties=penalties), lessons))
    worth = [judge(said) for said in zip(*(path.said for path in paths), strict=True)]
    best = max(range(len(penalties)), key=lambda number: (worth[number][0], -worth[number][1]))
    return [path.probes[best] for path in paths]


@dataclass(frozen=True, kw_only=True)
class _Path:
    """The probes of a lesson, one for each penalty, and what each says of what it is asked."""

    probes: list[Probe]
    said: list[Logits]


def _solve(begin: Callable[[], Lesson], penalties: Sequence[float]) -> _Path:
    lesson = begin()
    target = _target(lesson)
    solver = Solver(np.ascontiguousarray(lesson.x_NF[:MOST_ROWS], np.float32), target)
    probes = []
    for penalty in penalties:
        weights_FC, bias_C = target.layer(*solver.solve(penalty))
        probes.append(Probe(weights_FC=weights_FC, bias_C=bias_C, penalty=penalty))
    return _Path(probes=probes, said=[probe.answer(lesson.asked_NF) for probe in probes])


class Values:
    """One column, and half its squared error."""

    columns = 1
    curvature = 1.0

    def __init__(self, labels_N: Floats) -> None:
        self._labels_N1 = labels_N[:, None].astype(np.float64)

    def loss(self, values_N1: Doubles) -> tuple[float, Doubles]:
        errors_N1 = values_N1 - self._labels_N1
        return float(np.square(errors_N1).sum()) / 2, errors_N1

    def layer(self, weights_F1: Floats, bias_1: Floats) -> tuple[Floats, Floats]:
        return weights_F1, bias_1


class Classes:
    """Cross-entropy over the classes that the rows have. Of two, the difference of their logits says all."""

    def __init__(self, labels_N: Floats, outputs: int) -> None:
        self._present_P, self._labels_N = np.unique(labels_N.astype(np.int64), return_inverse=True)
        pair = len(self._present_P) == 2
        self._logits_KP = np.array([[-0.5, 0.5]]) if pair else np.eye(len(self._present_P))
        self._outputs = outputs
        self.columns = len(self._logits_KP)
        self.curvature = 0.25 if pair else 0.5

    def loss(self, values_NK: Doubles) -> tuple[float, Doubles]:
        logits_NP = values_NK @ self._logits_KP
        logits_NP -= logits_NP.max(axis=1, keepdims=True)
        shares_NP = np.exp(logits_NP)
        sums_N1 = shares_NP.sum(axis=1, keepdims=True)
        own = np.arange(len(logits_NP)), self._labels_N
        loss = float(np.log(sums_N1).sum() - logits_NP[own].sum())
        shares_NP /= sums_N1
        shares_NP[own] -= 1.0
        return loss, shares_NP @ self._logits_KP.T

    def layer(self, weights_FK: Floats, bias_K: Floats) -> tuple[Floats, Floats]:
        """For all outputs. Weights of the classes that there are add up to zero, so the others' are zero."""
        weights_FC = np.zeros((len(weights_FK), self._outputs), np.float32)
        weights_FC[:, self._present_P] = weights_FK @ self._logits_KP
        bias_P = bias_K @ self._logits_KP
        bias_C = np.full(self._outputs, bias_P.mean() - UNLIKELY, np.float32)
        bias_C[self._present_P] = bias_P
        return weights_FC, bias_C


Target = Values | Classes


def _target(lesson: Lesson) -> Target:
    labels_N = lesson.labels_N[:MOST_ROWS]
    if lesson.kind is Kind.REGRESSION:
        return Values(labels_N)
    return Classes(labels_N, lesson.outputs)
