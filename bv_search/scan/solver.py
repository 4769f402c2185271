"""The least of a loss of linear functions and a penalty on their weights, by SciPy's L-BFGS.

Features that go together make a loss a narrow valley, in which L-BFGS takes hundreds of steps. It takes ten
to thirty in coordinates in which the curvature is about 1 at most. On one core of an AMD EPYC, with five
penalties, the nine probes of MRPC took 1.7 s, and those of 50,000 rows of SST-2 12 s. scikit-learn's took
10 s on MRPC for the same scores; for nearly the same 2.1 s, and four times as long on SST-2.

Of more than two classes, rows that are told apart hardly curve the loss any more. So there the curvature is
taken anew where each penalty begins: of 12 classes, the probe of all channels took 22.3 s, and now 5.7.
Penalties are compared where they are nearly solved for: of 40 classes and five folds, that took half as long.

More features than rows are turned into the space of the rows: at the least, no weight is outside of it.

N rows, F features, G weights and the bias (F + 1), K columns, B features of a block.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import cholesky, qr, solve_triangular
from scipy.optimize import minimize

Floats = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

BLOCK = 4096  # features whose curvature is known together; a matrix of it takes 64 MB
STEPS = 1000
TURNED_FROM = 1.5  # features for each row: of 3072 and 2934 rows, turning took half of all the time
FINE = 1e-5  # of the gradient, for a single row; 3e-5 moved one row in 400 across a border, 3e-6 none
ROUGH = 3e-4  # enough to tell penalties apart
VAIN = 1e-9  # share of a loss: what a step may win of it by rounding alone
ROUNDING = 1e-5  # share of a curvature that is added to it, lest rounding make it negative


class Goal(Protocol):
    """What the columns are for."""

    @property
    def columns(self) -> int: ...
    @property
    def parts(self) -> Iterable[tuple[slice, "Goal"]]:
        """Columns that are solved for together, and what for; memory is that of the largest part."""

    def curvatures(self, values_NK: Floats) -> Floats:
        """About how curved each row's loss is here, for any column; of some goals the most that it can be."""

    def loss(self, values_NK: Floats) -> tuple[float, Floats]:
        """The sum of the rows' losses, and its gradient."""


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Of one penalty; its weights are those of the solver's own features."""

    penalty: float
    weights_GK: Floats


class Solver:
    """Solves for one penalty after another, each beginning where another ended."""

    def __init__(self, x_NF: Floats, goal: Goal) -> None:
        self._x_NF, self._turn = _turned(x_NF)
        self._goal = goal
        self._curvature: Curvature | None = None

    def solve(self, penalty: float, begin: Solution | None = None, tolerance: float = FINE) -> Solution:
        """The weights with the least loss plus half the penalty times their squares."""
        begin_GK = begin.weights_GK if begin else self._zeros()
        space, weights_GK = Coordinates(self._curvature_at(begin_GK), penalty), self._zeros()
        for part, goal in self._goal.parts:
            weights_GK[:, part] = self._descend(goal, begin_GK[:, part], penalty, space, tolerance)
        return Solution(penalty=penalty, weights_GK=weights_GK)

    def _descend(
        self, goal: Goal, begin_GK: Floats, penalty: float, space: "Coordinates", tolerance: float
    ) -> Floats:
        def at(place: Doubles) -> tuple[float, Doubles]:
            weights_GK = space.weights(place.astype(np.float32).reshape(-1, goal.columns))
            loss, gradient_GK = self._loss(goal, weights_GK, penalty)
            return loss, space.gradient(gradient_GK).ravel().astype(np.float64)

        options = {"maxiter": STEPS, "gtol": tolerance * len(self._x_NF) ** 0.5, "ftol": VAIN}
        place = space.place(begin_GK).ravel()
        end = minimize(at, place, jac=True, method="L-BFGS-B", options=options).x
        return space.weights(end.astype(np.float32).reshape(-1, goal.columns))

    def layer(self, solution: Solution) -> tuple[Floats, Floats]:
        """weights_FK and bias_K, of the features as they were given."""
        return self._turn(solution.weights_GK[:-1]), solution.weights_GK[-1]

    def _zeros(self) -> Floats:
        return np.zeros((self._x_NF.shape[1] + 1, self._goal.columns), np.float32)

    def _curvature_at(self, weights_GK: Floats) -> "Curvature":
        """The mean over parts."""
        found = [goal.curvatures(self._values(weights_GK[:, part])) for part, goal in self._goal.parts]
        of_rows_N: Floats = np.mean(found, axis=0)
        if self._curvature is None or not np.array_equal(of_rows_N, self._curvature.of_rows_N):
            self._curvature = Curvature.of(self._x_NF, of_rows_N)
        return self._curvature

    def _values(self, weights_GK: Floats) -> Floats:
        values_NK: Floats = self._x_NF @ weights_GK[:-1] + weights_GK[-1]
        return values_NK

    def _loss(self, goal: Goal, weights_GK: Floats, penalty: float) -> tuple[float, Floats]:
        """What is to be least, and its gradient."""
        weights_FK = weights_GK[:-1]
        loss, slopes_NK = goal.loss(self._values(weights_GK))
        gradient_FK = self._x_NF.T @ slopes_NK + np.float32(penalty) * weights_FK
        gradient_GK = np.vstack([gradient_FK, slopes_NK.sum(axis=0)])
        return loss + penalty / 2 * float(np.square(weights_FK, dtype=np.float64).sum()), gradient_GK


@dataclass(frozen=True, kw_only=True)
class Curvature:
    """Of the sum of the rows' losses, in blocks of neighbouring features."""

    of_rows_N: Floats
    blocks: Sequence[Floats]

    @classmethod
    def of(cls, x_NF: Floats, of_rows_N: Floats) -> Self:
        scaled_NF = x_NF * np.sqrt(of_rows_N)[:, None]
        blocks = np.array_split(scaled_NF, ceil(x_NF.shape[1] / BLOCK), axis=1)
        return cls(of_rows_N=of_rows_N, blocks=[block_NB.T @ block_NB for block_NB in blocks])

    @property
    def of_bias(self) -> float:
        return float(self.of_rows_N.sum())


class Coordinates:
    """Coordinates of the weights: a place is Lᵀ weights, where L Lᵀ is the curvature.

    The last block is the bias, which has no penalty.
    """

    def __init__(self, curvature: Curvature, penalty: float) -> None:
        self._factors = [_factor(curvature_BB, penalty) for curvature_BB in curvature.blocks]
        self._factors.append(np.full((1, 1), curvature.of_bias**0.5, np.float32))
        self._cuts = np.cumsum([len(factor_BB) for factor_BB in self._factors])[:-1]

    def place(self, weights_GK: Floats) -> Floats:
        return self._by_block(lambda factor_BB, part_BK: factor_BB.T @ part_BK, weights_GK)

    def weights(self, place_GK: Floats) -> Floats:
        return self._by_block(_solve_transposed, place_GK)

    def gradient(self, gradient_GK: Floats) -> Floats:
        """A gradient by weights as one by places."""
        return self._by_block(_solve, gradient_GK)

    def _by_block(self, work: Callable[[Floats, Floats], Floats], whole_GK: Floats) -> Floats:
        parts = np.split(whole_GK, self._cuts)
        return np.vstack(
            [work(factor_BB, part) for factor_BB, part in zip(self._factors, parts, strict=True)]
        )


def _turned(x_NF: Floats) -> tuple[Floats, Callable[[Floats], Floats]]:
    """Features with not many more columns than rows, and what gives their weights back as those of x."""
    rows, features = x_NF.shape
    if TURNED_FROM * rows >= features:
        return x_NF, lambda weights_FK: weights_FK
    turn_FN, x_NN = qr(x_NF.T, mode="economic", check_finite=False)
    return np.ascontiguousarray(x_NN.T), lambda weights_NK: turn_FN @ weights_NK


def _factor(curvature_BB: Floats, penalty: float) -> Floats:
    raised_BB = curvature_BB.copy()
    raised_BB.flat[:: len(raised_BB) + 1] += penalty + ROUNDING * curvature_BB.diagonal().mean()
    factor_BB: Floats = cholesky(raised_BB, lower=True, overwrite_a=True, check_finite=False)
    return factor_BB


def _solve(factor_BB: Floats, part_BK: Floats) -> Floats:
    solved_BK: Floats = solve_triangular(factor_BB, part_BK, lower=True, check_finite=False)
    return solved_BK


def _solve_transposed(factor_BB: Floats, part_BK: Floats) -> Floats:
    solved_BK: Floats = solve_triangular(factor_BB, part_BK, lower=True, trans=1, check_finite=False)
    return solved_BK
