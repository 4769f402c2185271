"""Linear probes are the least of their loss, as scikit-learn's are; the best on other rows is chosen."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from bv_search.scan import probe as probe_module
from bv_search.scan import solver
from bv_search.scan.probe import MOST_ROWS, PENALTIES, Lesson, Mask, Probe, Weigh, fit_probes
from bv_search.scan.solver import Floats
from bv_search.tasks.task import Kind, Logits


def features(rows: int, width: int, seed: int = 0) -> Floats:
    """Standardised, of very different directions: most of what they say is said twice."""
    rng = np.random.default_rng(seed)
    mixed_NF = rng.normal(size=(rows, width)) @ rng.normal(size=(width, width))
    standard_NF: Floats = ((mixed_NF - mixed_NF.mean(0)) / mixed_NF.std(0)).astype(np.float32)
    return standard_NF


def classes(x_NF: Floats, count: int, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    logits_NC = x_NF @ rng.normal(size=(x_NF.shape[1], count)) + rng.gumbel(size=(len(x_NF), count)) * 3
    codes_N: Floats = logits_NC.argmax(axis=1).astype(np.float32)
    return codes_N


def values(x_NF: Floats, seed: int = 1) -> Floats:
    rng = np.random.default_rng(seed)
    values_N: Floats = (x_NF @ rng.normal(size=x_NF.shape[1]) + rng.normal(size=len(x_NF)) + 3).astype("f4")
    return values_N


def probe(x_NF: Floats, labels_N: Floats, *, outputs: int, penalty: float) -> Probe:
    return fit(lesson(x_NF, labels_N, outputs=outputs), lambda said: (0.0, 0.0), (penalty,))


def lesson(x_NF: Floats, labels_N: Floats, *, outputs: int = 2, learned_NK: Mask | None = None) -> Lesson:
    kind = Kind.REGRESSION if outputs == 1 else Kind.CLASSIFICATION
    learned_NK = np.ones((len(x_NF), 1), np.bool_) if learned_NK is None else learned_NK
    return Lesson(x_NF=x_NF, labels_N=labels_N, learned_NK=learned_NK, kind=kind, outputs=outputs)


def fit(one: Lesson, judge: Weigh, penalties: Sequence[float] = PENALTIES) -> Probe:
    (found,) = fit_probes(one, judge, penalties=penalties)
    return found


def regression(x_NF: Floats, labels_N: Floats, penalty: float) -> LogisticRegression:
    """scikit-learn's own, as near as it comes."""
    return LogisticRegression(C=1 / penalty, tol=1e-8, max_iter=10_000).fit(x_NF.astype("f8"), labels_N)


def shares(logits_NC: Logits) -> Logits:
    raised_NC = np.exp(logits_NC - logits_NC.max(axis=1, keepdims=True))
    shares_NC: Logits = raised_NC / raised_NC.sum(axis=1, keepdims=True)
    return shares_NC


def answer(found: Probe, x_NF: Floats) -> Logits:
    logits_NC: Logits = x_NF @ found.weights_FC + found.bias_C
    return logits_NC


@pytest.mark.parametrize("penalty", [1e4, 1e2, 1.0])
def test_two_classes_are_solved_as_by_scikit_learn(penalty: float) -> None:
    x_NF = features(300, 20)
    labels_N = classes(x_NF, 2)
    found = probe(x_NF, labels_N, outputs=2, penalty=penalty)
    theirs = regression(x_NF, labels_N, penalty)
    np.testing.assert_allclose(found.weights_FC[:, 1] * 2, theirs.coef_[0], rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.weights_FC[:, 0], -found.weights_FC[:, 1])
    np.testing.assert_allclose(shares(answer(found, x_NF)), theirs.predict_proba(x_NF), atol=2e-4)


@pytest.mark.parametrize("penalty", [1e3, 1e1, 1.0])
def test_many_classes_are_solved_as_by_scikit_learn(penalty: float) -> None:
    x_NF = features(400, 15)
    labels_N = classes(x_NF, 4)
    found = probe(x_NF, labels_N, outputs=4, penalty=penalty)
    theirs = regression(x_NF, labels_N, penalty)
    np.testing.assert_allclose(found.weights_FC, theirs.coef_.T, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(shares(answer(found, x_NF)), theirs.predict_proba(x_NF), atol=2e-4)


@pytest.mark.parametrize("penalty", [1e4, 1e2, 1.0])
def test_values_are_solved_as_by_the_closed_form(penalty: float) -> None:
    x_NF = features(300, 20)
    labels_N = values(x_NF)
    found = probe(x_NF, labels_N, outputs=1, penalty=penalty)
    x, y = x_NF.astype(np.float64), labels_N.astype(np.float64)
    weights_F = np.linalg.solve(x.T @ x + penalty * np.eye(20), x.T @ (y - y.mean()))
    np.testing.assert_allclose(found.weights_FC[:, 0], weights_F, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(found.bias_C, y.mean(), rtol=1e-5)
    theirs = Ridge(alpha=penalty).fit(x, y)
    np.testing.assert_allclose(answer(found, x_NF)[:, 0], theirs.predict(x), atol=2e-4)


def test_a_feature_that_never_changes_has_no_weight() -> None:
    x_NF = features(100, 6)
    x_NF[:, 2] = 0.0
    found = probe(x_NF, classes(x_NF, 2), outputs=2, penalty=1.0)
    assert not found.weights_FC[2].any()
    assert np.isfinite(found.weights_FC).all()


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_a_class_without_rows_is_very_unlikely(missing: int) -> None:
    x_NF = features(200, 10)
    labels_N = classes(x_NF, 2)
    labels_N[labels_N >= missing] += 1.0  # of three classes one is left out
    found = probe(x_NF, labels_N, outputs=3, penalty=1e-2)
    logits_NC = answer(found, features(500, 10, seed=5))
    assert np.isfinite(logits_NC).all()
    assert shares(logits_NC)[:, missing].max() < 1e-8
    present = [number for number in range(3) if number != missing]
    two = probe(x_NF, (labels_N == present[1]).astype(np.float32), outputs=2, penalty=1e-2)
    np.testing.assert_allclose(found.weights_FC[:, present], two.weights_FC)


def test_of_one_class_the_answer_is_constant() -> None:
    x_NF = features(50, 4)
    found = probe(x_NF, np.ones(50, np.float32), outputs=3, penalty=1.0)
    assert not found.weights_FC.any()
    assert found.bias_C.argmax() == 1
    assert np.isfinite(found.bias_C).all()


def test_of_one_value_the_answer_is_constant() -> None:
    x_NF = features(50, 4)
    found = probe(x_NF, np.full(50, 2.5, np.float32), outputs=1, penalty=1.0)
    np.testing.assert_allclose(answer(found, x_NF), 2.5, rtol=1e-4)


@pytest.mark.parametrize(
    ("scores", "losses", "best"),
    [
        ((0.1, 0.3, 0.2), (1.0, 9.0, 1.0), 1),  # the score counts first
        ((0.3, 0.3, 0.2), (2.0, 1.0, 0.0), 1),  # then the loss
        ((0.3, 0.3, 0.3), (1.0, 1.0, 1.0), 0),  # then the stronger penalty
    ],
)
def test_the_penalty_is_chosen_by_what_is_said_of_others(
    scores: Sequence[float], losses: Sequence[float], best: int
) -> None:
    x_NF = features(60, 5)
    said = iter(zip(scores, losses, strict=True))
    found = fit(lesson(x_NF, classes(x_NF, 2)), lambda _: next(said), PENALTIES[:3])
    assert found.penalty == PENALTIES[best]


def test_what_is_judged_best_is_solved_to_its_end() -> None:
    x_NF = features(60, 5)
    seen: list[Sequence[Probe]] = []

    def judge(probes: Sequence[Probe]) -> tuple[float, float]:
        seen.append(probes)
        return float(len(seen)), -float(len(seen))

    found = fit(lesson(x_NF, classes(x_NF, 2)), judge)
    assert [probe.penalty for (probe,) in seen] == list(PENALTIES)
    (judged,) = seen[-1]
    np.testing.assert_allclose(found.weights_FC, judged.weights_FC, atol=1e-3)
    assert not np.array_equal(found.weights_FC, judged.weights_FC)
    assert found.weights_FC.dtype == found.bias_C.dtype == np.float32


@pytest.mark.parametrize(
    ("losses", "tried"), [((1.0, 2.0, 3.0), 3), ((2.0, 1.0, 3.0, 2.0), 4), ((1.0, 1.5, 0.5, 1.0, 2.0), 5)]
)
def test_weaker_penalties_are_not_tried_once_the_loss_has_only_risen(
    losses: Sequence[float], tried: int
) -> None:
    x_NF, said = features(60, 5), iter((0.5, loss) for loss in losses)
    found = fit(lesson(x_NF, classes(x_NF, 2)), lambda _: next(said))
    assert not list(said), "so many and no more"
    assert found.penalty == PENALTIES[losses.index(min(losses))]
    assert len(losses) == tried <= len(PENALTIES)


@pytest.mark.parametrize("outputs", [1, 2, 3])
def test_copies_share_a_penalty_and_each_learns_from_its_own_rows(outputs: int) -> None:
    x_NF = features(240, 6)
    labels_N = values(x_NF) if outputs == 1 else classes(x_NF, outputs)
    learned_NK = np.arange(240)[:, None] % 3 != np.arange(3)
    penalty = PENALTIES[2]
    worth = iter([(0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (0.0, 0.0)])
    found = fit_probes(lesson(x_NF, labels_N, outputs=outputs, learned_NK=learned_NK), lambda _: next(worth))

    assert [probe.penalty for probe in found] == [penalty] * 3
    for probe_of_copy, learned_N in zip(found, learned_NK.T, strict=True):
        alone = probe(x_NF[learned_N], labels_N[learned_N], outputs=outputs, penalty=penalty)
        np.testing.assert_allclose(probe_of_copy.weights_FC, alone.weights_FC, rtol=1e-3, atol=1e-4)
        np.testing.assert_allclose(probe_of_copy.bias_C, alone.bias_C, rtol=1e-3, atol=1e-4)


def test_copies_of_many_classes_are_solved_one_by_one_to_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that memory is that of one."""
    x_NF = features(240, 6)
    learned_NK = np.arange(240)[:, None] % 3 != np.arange(3)
    one = lesson(x_NF, classes(x_NF, 4), outputs=4, learned_NK=learned_NK)
    together = fit_probes(one, lambda _: (0.0, 0.0), penalties=(10.0,))
    monkeypatch.setattr(probe_module, "TOGETHER", 3)
    largest: list[int] = []
    minimize = vars(solver)["minimize"]

    def watched(at: Any, begin: Any, **more: Any) -> Any:
        largest.append(len(begin))
        return minimize(at, begin, **more)

    monkeypatch.setattr(solver, "minimize", watched)
    apart = fit_probes(one, lambda _: (0.0, 0.0), penalties=(10.0,))
    assert set(largest) == {7 * 4}
    for each, other in zip(together, apart, strict=True):
        np.testing.assert_allclose(each.weights_FC, other.weights_FC, atol=2e-4)


def test_a_copy_without_rows_of_a_class_takes_it_for_unlikely() -> None:
    x_NF = features(200, 5)
    labels_N = classes(x_NF, 3)
    learned_NK = np.stack([np.ones(200, np.bool_), labels_N != 1], axis=1)
    one = lesson(x_NF, labels_N, outputs=3, learned_NK=learned_NK)
    _, without = fit_probes(one, lambda _: (0.0, 0.0), penalties=(10.0,))
    said = shares(answer(without, x_NF))
    assert np.isfinite(said).all()
    assert said[:, 1].max() < 1e-3


def test_only_the_first_rows_are_learned_from() -> None:
    x_NF = features(MOST_ROWS + 50, 3)
    labels_N = classes(x_NF, 2)
    found = probe(x_NF, labels_N, outputs=2, penalty=1.0)
    labels_N[MOST_ROWS:] = 1.0
    np.testing.assert_array_equal(found.weights_FC, probe(x_NF, labels_N, outputs=2, penalty=1.0).weights_FC)
