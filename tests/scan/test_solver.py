"""The least of a loss and a penalty, however its features are turned or cut."""

import numpy as np
import pytest

from bv_search.scan import solver
from bv_search.scan.probe import PENALTIES
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
