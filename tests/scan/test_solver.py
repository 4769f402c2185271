"""The least of a loss and a penalty, however its features are turned or cut."""

from collections.abc import Iterable

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from bv_search.scan import solver
from bv_search.scan.probe import PENALTIES
from bv_search.scan.solver import Floats
from tests.scan.test_probe import classes, features, fit, lesson, probe, regression


@pytest.mark.parametrize("block", [8, 4096])
def test_more_features_than_rows(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solver, "BLOCK", block)
    x_NF = features(40, 90)
    labels_N = classes(x_NF, 2)
    found = probe(x_NF, labels_N, outputs=2, penalty=1.0)
    theirs = regression(x_NF, labels_N, 1.0)
    np.testing.assert_allclose(found.weights_FC[:, 1] * 2, theirs.coef_[0], rtol=1e-3, atol=1e-4)


def test_curvature_that_is_known_in_blocks_gives_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    x_NF = features(300, 30)
    labels_N = classes(x_NF, 3)
    whole = probe(x_NF, labels_N, outputs=3, penalty=10.0)
    monkeypatch.setattr(solver, "BLOCK", 7)
    blocks = probe(x_NF, labels_N, outputs=3, penalty=10.0)
    np.testing.assert_allclose(whole.weights_FC, blocks.weights_FC, atol=2e-4)


def test_a_path_of_penalties_ends_where_a_single_one_does() -> None:
    x_NF = features(300, 20)
    labels_N = classes(x_NF, 2)
    scores = iter(range(5))
    found = fit(lesson(x_NF, labels_N), lambda _: (float(score := next(scores)), -float(score)))
    alone = probe(x_NF, labels_N, outputs=2, penalty=PENALTIES[-1])
    np.testing.assert_allclose(found.weights_FC, alone.weights_FC, atol=1e-4)


class Squares:
    """Half the squared distance of values from what they should be."""

    def __init__(self, y_NK: np.ndarray) -> None:
        self._y_NK = y_NK

    @property
    def columns(self) -> int:
        return len(self._y_NK[0])

    @property
    def parts(self) -> Iterable[tuple[slice, solver.Goal]]:
        return [(slice(0, 1), Squares(self._y_NK[:, :1])), (slice(1, 3), Squares(self._y_NK[:, 1:]))]

    def curvatures(self, values_NK: Floats) -> Floats:
        return np.ones(len(values_NK), np.float32)

    def loss(self, values_NK: Floats) -> tuple[float, Floats]:
        slopes_NK = values_NK - self._y_NK
        return float(np.square(slopes_NK).sum()) / 2, slopes_NK


@pytest.mark.parametrize(("rows", "width"), [(60, 8), (20, 50)])
def test_squares_are_solved_as_by_the_closed_form(rows: int, width: int) -> None:
    """Of several columns, and with one penalty after another; the bias has none."""
    x_NF = features(rows, width)
    y_NK = np.random.default_rng(2).normal(size=(rows, 3)) + 4.0
    solver_of_squares = solver.Solver(x_NF, Squares(y_NK))
    solution = None
    for penalty in (100.0, 1.0):
        solution = solver_of_squares.solve(penalty, solution)
        weights_FK, bias_K = solver_of_squares.layer(solution)
        theirs = Ridge(alpha=penalty).fit(x_NF.astype("f8"), y_NK)
        np.testing.assert_allclose(weights_FK, theirs.coef_.T, atol=2e-3)
        np.testing.assert_allclose(bias_K, theirs.intercept_, rtol=1e-3)
