"""Linear probes: the best linear head on given features, solved to its end instead of trained.

N rows, F features, K copies of a probe, P classes that the rows have, J numbers that say which of them a row
is of, X columns that are solved for (K · J), C outputs.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from math import inf

import numpy as np
import numpy.typing as npt

from bv_search.scan.solver import ROUGH, Floats, Goal, Solution, Solver
from bv_search.tasks.task import Kind, Logits

PENALTIES = (1e4, 1e3, 1e2, 1e1, 1.0)
"""What scikit-learn calls alpha of Ridge and 1/C of LogisticRegression, from strong to weak."""

MOST_VAIN = 2  # penalties in a row that lower no loss

MOST_ROWS = 50_000
TOGETHER = 16  # classes up to which copies are solved together: of more, each is a wide product by itself
LEAST_CURVATURE = 0.01  # of a row that is told apart: it may come to be curved again
UNLIKELY = 20.0  # how far the logit of a class without rows is below the mean of the others

Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """What the copies of a probe learn from: of rows in a random order the first."""

    x_NF: Floats  # standardised
    labels_N: Floats  # numbers of classes, or values
    learned_NK: Mask  # which rows each copy learns from
    kind: Kind
    outputs: int


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A dense layer, and the penalty that it was solved with."""

    weights_FC: Floats
    bias_C: Floats
    penalty: float

    def answer(self, x_NF: Floats) -> Logits:
        logits_NC: Logits = x_NF @ self.weights_FC + self.bias_C
        return logits_NC


Weigh = Callable[[Sequence[Probe]], tuple[float, float]]
"""The score and the loss of what the copies of a probe say."""


def fit_probes(lesson: Lesson, weigh: Weigh, *, penalties: Sequence[float] = PENALTIES) -> list[Probe]:
    """The copies of a probe, all of one penalty: that with the best score, of equal ones with the least loss.

    Penalties come from strong to weak, and are compared where they are nearly solved for; then the best is
    solved to its end. Weak ones take longest: they are not tried once the loss has only risen for a while.
    """
    target = _target(lesson)
    solver = Solver(np.ascontiguousarray(lesson.x_NF[:MOST_ROWS], np.float32), target)

    def probes_of(solution: Solution) -> list[Probe]:
        layers = target.layers(*solver.layer(solution))
        return [Probe(weights_FC=weights, bias_C=bias, penalty=solution.penalty) for weights, bias in layers]

    last, best, most = None, None, (-inf, -inf)
    losses: list[float] = []
    for penalty in penalties:
        last = solver.solve(penalty, last, ROUGH)
        score, loss = weigh(probes_of(last))
        if (score, -loss) > most:
            best, most = last, (score, -loss)
        losses.append(loss)
        if len(losses) - losses.index(min(losses)) > MOST_VAIN:
            break
    assert best is not None, "there are penalties, and scores of each"
    return probes_of(solver.solve(best.penalty, best))


Layer = tuple[Floats, Floats]
"""weights_FC and bias_C."""


class Values:
    """One column a copy, and half its squared error. Values are standardised: solvers have one precision."""

    def __init__(self, labels_N: Floats, learned_NK: Mask, outputs: int) -> None:
        assert outputs == 1, "a row has one value"
        labels_N1 = labels_N[:, None].astype(np.float64)
        self._mean, self._deviation = labels_N1.mean(), labels_N1.std() or 1.0
        self._labels_N1 = ((labels_N1 - self._mean) / self._deviation).astype(np.float32)
        self._learned_NK = learned_NK
        self.columns = learned_NK.shape[1]

    @property
    def parts(self) -> Iterable[tuple[slice, Goal]]:
        return [(slice(None), self)]

    def curvatures(self, values_NK: Floats) -> Floats:
        return np.ones(len(values_NK), np.float32)

    def loss(self, values_NK: Floats) -> tuple[float, Floats]:
        errors_NK = (values_NK - self._labels_N1) * self._learned_NK
        return float(np.square(errors_NK).sum(dtype=np.float64)) / 2, errors_NK

    def layers(self, weights_FK: Floats, bias_K: Floats) -> Iterator[Layer]:
        weights_FK, bias_K = weights_FK * self._deviation, bias_K * self._deviation + self._mean
        return zip(np.split(weights_FK, self.columns, axis=1), np.split(bias_K, self.columns), strict=True)


class Classes:
    """Cross-entropy over the classes that the rows have. Of two, the difference of their logits says all."""

    def __init__(self, labels_N: Floats, learned_NK: Mask, outputs: int) -> None:
        self._given_N = labels_N
        self._present_P, self._labels_N = np.unique(labels_N.astype(np.int64), return_inverse=True)
        self._learned_NK, self._outputs = learned_NK, outputs
        pair = len(self._present_P) == 2
        # of more than two, each column is a class's
        self._logits_JP = np.array([[-0.5, 0.5]], np.float32) if pair else None
        self._columns_each = 1 if pair else len(self._present_P)
        self.columns = learned_NK.shape[1] * self._columns_each

    @cached_property
    def parts(self) -> Iterable[tuple[slice, Goal]]:
        copies, each = self._learned_NK.shape[1], self._columns_each
        if copies == 1 or each <= TOGETHER:
            return [(slice(None), self)]
        return [
            (slice(k * each, (k + 1) * each), Classes(self._given_N, self._learned_NK[:, [k]], self._outputs))
            for k in range(copies)
        ]

    def curvatures(self, values_NX: Floats) -> Floats:
        """Of two classes the most that it can be; of more the mean over classes and copies."""
        classes = len(self._present_P)
        if classes <= 2:
            return np.full(len(values_NX), 0.25, np.float32)
        shares_NKP = np.exp(self._log_shares(values_NX))
        mean_N = (shares_NKP * (1 - shares_NKP)).mean(axis=(1, 2)) * classes / (classes - 1)
        curvatures_N: Floats = np.maximum(mean_N, LEAST_CURVATURE).astype(np.float32)
        return curvatures_N

    def loss(self, values_NX: Floats) -> tuple[float, Floats]:
        log_shares_NKP = self._log_shares(values_NX)
        own = np.arange(len(values_NX)), slice(None), self._labels_N
        loss = -float((log_shares_NKP[own] * self._learned_NK).sum(dtype=np.float64))
        shares_NKP = np.exp(log_shares_NKP, out=log_shares_NKP)
        shares_NKP[own] -= 1.0
        shares_NKP *= self._learned_NK[:, :, None]
        if self._logits_JP is not None:
            shares_NKP = shares_NKP @ self._logits_JP.T
        return loss, shares_NKP.reshape(values_NX.shape)

    def layers(self, weights_FX: Floats, bias_X: Floats) -> Iterator[Layer]:
        weights_KFJ = self._of_copies(weights_FX).swapaxes(0, 1)
        return starmap(self._layer, zip(weights_KFJ, self._of_copies(bias_X), strict=True))

    def _log_shares(self, values_NX: Floats) -> Floats:
        """log_shares_NKP: of each class, as a copy sees it."""
        logits_NKP = self._of_classes(self._of_copies(values_NX))
        log_shares_NKP: Floats = logits_NKP - logits_NKP.max(axis=2, keepdims=True)
        log_shares_NKP -= np.log(np.exp(log_shares_NKP).sum(axis=2, keepdims=True))
        return log_shares_NKP

    def _of_copies(self, of_columns: Floats) -> Floats:
        return of_columns.reshape(*of_columns.shape[:-1], self._learned_NK.shape[1], self._columns_each)

    def _of_classes(self, each_J: Floats) -> Floats:
        return each_J if self._logits_JP is None else each_J @ self._logits_JP

    def _layer(self, weights_FJ: Floats, bias_J: Floats) -> Layer:
        """For all outputs. Weights of the classes that there are add up to zero, so the others' are zero."""
        weights_FC = np.zeros((len(weights_FJ), self._outputs), np.float32)
        weights_FC[:, self._present_P] = self._of_classes(weights_FJ)
        bias_P = self._of_classes(bias_J)
        bias_C = np.full(self._outputs, bias_P.mean() - UNLIKELY, np.float32)
        bias_C[self._present_P] = bias_P
        return weights_FC, bias_C


Target = Values | Classes
TARGETS: dict[Kind, type[Target]] = {Kind.CLASSIFICATION: Classes, Kind.REGRESSION: Values}  # spans have none


def _target(lesson: Lesson) -> Target:
    labels_N, learned_NK = lesson.labels_N[:MOST_ROWS], lesson.learned_NK[:MOST_ROWS]
    return TARGETS[lesson.kind](labels_N, learned_NK, lesson.outputs)
