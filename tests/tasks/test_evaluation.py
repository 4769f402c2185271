from functools import partial

import numpy as np
import pytest

from bv_search.tasks import Evaluation, difference
from bv_search.tasks.metrics import accuracy


def evaluation(right: list[int], rows: list[str] | None = None) -> Evaluation:
    outcome = np.stack((right, np.ones(len(right))), axis=1).astype(np.float64)
    names = tuple(rows or [f"row-{number}" for number in range(len(right))])
    score = accuracy(outcome)
    return Evaluation(rows=names, outcome=outcome, metrics={}, score=score, score_of=accuracy)


def coin(seed: int, share: float = 0.5, count: int = 400) -> list[int]:
    return [int(x) for x in np.random.default_rng(seed).random(count) < share]


def test_an_interval_is_as_wide_as_theory_says() -> None:
    low, high = evaluation([1] * 300 + [0] * 100).interval(samples=2000)
    width = 2 * 1.96 * (0.75 * 0.25 / 400) ** 0.5
    assert low < 0.75 < high
    assert high - low == pytest.approx(width, rel=0.1)


def test_an_interval_is_the_same_every_time_and_follows_its_seed() -> None:
    one = evaluation(coin(0))
    assert one.interval() == one.interval()
    assert one.interval(seed=1) != one.interval(seed=2)


def test_a_difference_is_ours_minus_theirs() -> None:
    ours, theirs = evaluation([1, 1, 1, 1]), evaluation([1, 1, 1, 0])
    delta, low, high = difference(ours, theirs)
    assert delta == pytest.approx(0.25)
    assert 0 <= low <= delta <= high
    assert difference(theirs, ours)[0] == pytest.approx(-0.25)


def test_what_both_get_wrong_does_not_blur_a_difference() -> None:
    shared = coin(1)
    better = [int(x) for x in shared]
    for place in [number for number, right in enumerate(shared) if not right][:20]:
        better[place] = 1
    _, low, high = difference(evaluation(better), evaluation(shared))
    unpaired = evaluation(better).interval()
    assert low > 0
    assert high - low < (unpaired[1] - unpaired[0]) / 2


def test_rows_are_matched_by_name_not_by_place() -> None:
    right = coin(2)
    names = [f"row-{number}" for number in range(len(right))]
    other = evaluation(right[::-1], names[::-1])
    assert difference(evaluation(right, names), other) == (0.0, 0.0, 0.0)


def test_different_rows_cannot_be_paired() -> None:
    with pytest.raises(AssertionError, match="same rows"):
        difference(evaluation([1], ["a"]), evaluation([1], ["b"]))


def test_a_score_of_parts_can_be_resampled() -> None:
    one = Evaluation(
        rows=("a", "b"),
        outcome=np.array([[1.0, 1.0], [0.0, 1.0]]),
        metrics={},
        score=0.5,
        score_of=partial(lambda floor, outcome: max(floor, accuracy(outcome)), 0.25),
    )
    assert one.interval() == (0.25, 1.0)
