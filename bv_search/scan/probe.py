"""Linear probes: the best linear head on given features, solved to its end instead of trained.

N rows, F features, P classes that the rows have, K columns that are solved for, C outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from bv_search.scan.solver import Doubles, Floats, Solver
from bv_search.tasks.task import Kind, Logits

Judge = Callable[[Logits], tuple[float, float]]
"""The score and the loss of logits_NC on select."""

PENALTIES = (1e4, 1e3, 1e2, 1e1, 1.0)
"""What scikit-learn calls alpha of Ridge and 1/C of LogisticRegression, from strong to weak."""

MOST_ROWS = 50_000
UNLIKELY = 20.0  # how far the logit of a class without rows is below the mean of the others


@dataclass(frozen=True, kw_only=True)
class Examples:
    """What a probe learns from: of a store's rows, which have a random order, the first."""

    x_NF: Floats  # standardised
    labels_N: Floats  # numbers of classes, or values
    kind: Kind
    outputs: int


@dataclass(frozen=True, kw_only=True)
class Probe:
    """A dense layer, the penalty that it was solved with, and how it does on select."""

    weights_FC: Floats
    bias_C: Floats
    penalty: float
    score: float
    loss: float


def fit_probe(
    examples: Examples, select_NF: Floats, judge: Judge, *, penalties: Sequence[float] = PENALTIES
) -> Probe:
    """The probe with the best score on select; of equal ones that with the least loss there."""
    target = _target(examples)
    # a second thread changes rounding; where others used the cores too, it made the whole twenty times slower
    with threadpool_limits(1):
        solver = Solver(np.ascontiguousarray(examples.x_NF[:MOST_ROWS], np.float32), target)
        probes = [_probe(solver, target, penalty, select_NF, judge) for penalty in penalties]
    return max(probes, key=lambda probe: (probe.score, -probe.loss))


def _probe(solver: Solver, target: "Target", penalty: float, select_NF: Floats, judge: Judge) -> Probe:
    weights_FC, bias_C = target.layer(*solver.solve(penalty))
    score, loss = judge(select_NF @ weights_FC + bias_C)
    return Probe(weights_FC=weights_FC, bias_C=bias_C, penalty=penalty, score=score, loss=loss)


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


def _target(examples: Examples) -> Target:
    labels_N = examples.labels_N[:MOST_ROWS]
    if examples.kind is Kind.REGRESSION:
        return Values(labels_N)
    return Classes(labels_N, examples.outputs)
