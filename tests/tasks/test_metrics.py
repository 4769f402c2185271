import numpy as np
import pytest
from scipy import stats

from bv_search.tasks import metrics


def outcome(predicted: list[float], gold: list[float]) -> np.ndarray:
    return np.stack((predicted, gold), axis=1).astype(np.float64)


# predicted 1 1 1 0 0 0, gold 1 1 0 0 0 1: tp 2, fp 1, fn 1, tn 2
MIXED = outcome([1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 1])


def test_figures_of_two_classes_by_hand() -> None:
    assert metrics.accuracy(MIXED) == pytest.approx(4 / 6)
    assert metrics.f1(MIXED) == pytest.approx(2 * 2 / (3 + 3))
    assert metrics.matthews(MIXED) == pytest.approx((2 * 2 - 1 * 1) / (3 * 3 * 3 * 3) ** 0.5)


def test_macro_f1_weighs_every_class_alike() -> None:
    three = outcome([0, 0, 0, 1, 2], [0, 0, 0, 1, 1])
    # class 0: 1; class 1: 1 of 1 predicted and 2 true → 2/3; class 2: 0
    assert metrics.macro_f1(three) == pytest.approx((1 + 2 / 3 + 0) / 3)


def test_guessing_one_class_has_no_correlation() -> None:
    assert metrics.matthews(outcome([1, 1, 1], [1, 0, 1])) == 0.0
    assert metrics.f1(outcome([0, 0], [0, 0])) == 0.0


def test_correlations_agree_with_scipy_on_values_with_ties() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 6, 200).astype(float)
    predicted = gold + rng.normal(0, 2, 200).round()
    both = outcome(list(predicted), list(gold))
    assert metrics.pearson(both) == pytest.approx(stats.pearsonr(predicted, gold).statistic)
    assert metrics.spearman(both) == pytest.approx(stats.spearmanr(predicted, gold).statistic)
    assert metrics.pearson_spearman(both) == pytest.approx(
        (metrics.pearson(both) + metrics.spearman(both)) / 2
    )


def test_a_constant_has_no_correlation() -> None:
    assert metrics.pearson_spearman(outcome([2.5, 2.5, 2.5], [1, 2, 3])) == 0.0


@pytest.mark.parametrize("name", metrics.VALUE_METRICS)
def test_rounding_does_not_make_a_correlation(name: str) -> None:
    """The mean of three tenths is a bit beside a tenth, and so all deviations from it are alike."""
    tenths, nearly = [0.1] * 3, [0.1, 0.1, float(np.nextafter(0.1, 1))]
    for constant in (tenths, nearly):
        for other in (tenths, [1.0, 2.0, 3.0]):
            assert metrics.VALUE_METRICS[name](outcome(constant, other)) == 0.0
            assert metrics.VALUE_METRICS[name](outcome(other, constant)) == 0.0


def test_small_differences_of_large_values_are_no_rounding() -> None:
    assert metrics.pearson(outcome([1e6, 1e6 + 1e-3, 1e6 + 2e-3], [1, 2, 3])) == pytest.approx(1.0)


@pytest.mark.parametrize("name", [*metrics.CLASS_METRICS, *metrics.VALUE_METRICS])
def test_nothing_scores_nothing(name: str) -> None:
    measure = {**metrics.CLASS_METRICS, **metrics.VALUE_METRICS}[name]
    assert measure(np.zeros((0, 2))) == 0.0


@pytest.mark.parametrize("name", metrics.VALUE_METRICS)
def test_counted_rows_score_as_repeated_rows_do(name: str) -> None:
    """With ties, with rows that are left out, and where all that is left is one value."""
    rng = np.random.default_rng(0)
    taken = np.stack([rng.integers(0, 9, 60), rng.normal(size=60).round(1)], axis=1).astype(np.float64)
    counted = metrics.COUNTED_METRICS[name](taken)
    for seed in range(20):
        times = np.bincount(np.random.default_rng(seed).integers(60, size=60), minlength=60)
        repeated = taken[np.repeat(np.arange(60), times)]
        assert counted(times) == pytest.approx(metrics.VALUE_METRICS[name](repeated), abs=1e-12)
    one = np.zeros(60, dtype=np.int64)
    one[3] = 60
    assert counted(one) == 0.0


@pytest.mark.parametrize("name", metrics.CLASS_METRICS)
@pytest.mark.parametrize("classes", [2, 5])
def test_counted_rows_of_classes_score_as_repeated_rows_do(name: str, classes: int) -> None:
    rng = np.random.default_rng(0)
    taken = rng.integers(0, classes, (60, 2)).astype(np.float64)
    counted = metrics.COUNTED_METRICS[name](taken)
    for seed in range(20):
        times = np.bincount(np.random.default_rng(seed).integers(60, size=3), minlength=60)
        repeated = taken[np.repeat(np.arange(60), times)]
        assert counted(times) == pytest.approx(metrics.CLASS_METRICS[name](repeated), abs=1e-12)


def test_macro_f1_is_the_mean_of_each_classs_own() -> None:
    found = np.random.default_rng(0).integers(0, 9, (200, 2)).astype(float)
    found[found == 4.0] = 5.0
    own = [metrics.f1((found == each).astype(float)) for each in (0, 1, 2, 3, 5, 6, 7, 8)]
    assert metrics.macro_f1(found) == pytest.approx(np.mean(own))
