"""What a head keeps of its checks."""

import json

import pytest

from bv_search.scan.checks import Check, Checks


def check(position: int, score: float, loss: float) -> Check:
    return Check(position=position, rows=16 * position, score=score, loss=loss)


def after(*values: tuple[float, float]) -> Checks:
    """Scores and losses, one check after the other."""
    checks = Checks()
    for position, (score, loss) in enumerate(values, start=1):
        checks = checks.after(check(position, score, loss))
    return checks


def test_the_best_check_has_the_best_score_and_of_equal_ones_the_lowest_loss() -> None:
    assert after((0.5, 0.6), (0.7, 0.9), (0.7, 0.8), (0.7, 0.8), (0.6, 0.1)).best == check(3, 0.7, 0.8)


@pytest.mark.parametrize(
    ("values", "idle"),
    [
        ([], 0),
        ([(0.5, 0.6)], 0),
        ([(0.5, 0.6), (0.5, 0.6)], 1),
        ([(0.5, 0.6), (0.4, 0.7), (0.4, 0.65)], 2),
        ([(0.5, 0.6), (0.4, 0.7), (0.6, 0.7)], 0),
        ([(0.5, 0.6), (0.4, 0.7), (0.4, 0.5)], 0),
        ([(0.5, 0.6), (0.4, 0.5), (0.5, 0.55)], 0),
        ([(0.5, 0.6), (0.4, 0.5), (0.4, 0.55)], 1),
    ],
    ids=["none", "one", "the same", "worse", "a score", "a loss", "a better loss at the best score", "idle"],
)
def test_a_better_score_is_a_gain_and_so_is_a_loss_lower_than_any(
    values: list[tuple[float, float]], idle: int
) -> None:
    assert after(*values).idle == idle


def test_a_lower_loss_is_a_gain_and_its_weights_are_not_the_best() -> None:
    checks = after((0.5, 0.6), (0.4, 0.5))
    assert (checks.best, checks.lowest, checks.idle) == (check(1, 0.5, 0.6), 0.5, 0)
    assert not checks.beaten_by(check(3, 0.5, 0.6))
    assert checks.beaten_by(check(3, 0.5, 0.59))


@pytest.mark.parametrize("checks", [Checks(), after((0.5, 0.6), (0.4, 0.7))])
def test_they_come_back_from_json(checks: Checks) -> None:
    assert Checks.from_json(json.loads(json.dumps(checks.to_json()))) == checks
