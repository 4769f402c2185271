import time
from functools import partial

import numpy as np
import pytest

from bv_search.tasks import Evaluation, difference
from bv_search.tasks.evaluation import Delta
from bv_search.tasks.metrics import accuracy


def evaluation(
    right: list[int], rows: list[str] | None = None, groups: list[int] | None = None, *, mean: bool = True
) -> Evaluation:
    """Each row is by itself where no groups are given; `mean` says that the score is one."""
    outcome = np.stack((right, np.ones(len(right))), axis=1).astype(np.float64)
    return Evaluation(
        rows=tuple(rows or [f"row-{number}" for number in range(len(right))]),
        groups=np.array(range(len(right)) if groups is None else groups, dtype=np.uint64),
        outcome=outcome,
        metrics={},
        score=accuracy(outcome),
        score_of=accuracy,
        mean_of=outcome[:, 0] if mean else None,
    )


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


def test_draws_are_of_the_same_rows_whatever_is_scored() -> None:
    """What one has right where the other has not, it gains in every draw."""
    ours, theirs = [1] * 300 + [0] * 100, [1] * 290 + [0] * 110
    gained_S = evaluation(ours).draws() - evaluation(theirs).draws()
    assert gained_S.min() >= 0.0
    assert gained_S.mean() == pytest.approx(10 / 400, rel=0.1)
    assert evaluation(ours).draws().std() == pytest.approx((0.75 * 0.25 / 400) ** 0.5, rel=0.1)


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [(0.01, 0.05, "better than it"), (-0.05, -0.01, "worse than it"), (-0.01, 0.05, "a tie with it")],
)
def test_two_whose_difference_may_be_none_are_a_tie(low: float, high: float, said: str) -> None:
    assert Delta((low + high) / 2, low, high).beside("it") == said


def test_a_difference_is_ours_minus_theirs() -> None:
    ours, theirs = evaluation([1, 1, 1, 1]), evaluation([1, 1, 1, 0])
    delta, low, high = difference(ours, theirs)
    assert delta == pytest.approx(0.25)
    assert low <= delta <= high
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
        groups=np.array([0, 1], dtype=np.uint64),
        outcome=np.array([[1.0, 1.0], [0.0, 1.0]]),
        metrics={},
        score=0.5,
        score_of=partial(lambda floor, outcome: max(floor, accuracy(outcome)), 0.25),
    )
    assert set(one.draws()) == {0.25, 0.5, 1.0}


def alike(seed: int, *, groups: int = 40, each: int = 10, correlation: float = 0.3) -> list[int]:
    """Right answers by a coin of its own for every group: half are right, rows of a group are alike."""
    rng = np.random.default_rng(seed)
    spread = 0.5 * (1 / correlation - 1)
    coins_G = rng.beta(spread, spread, size=groups)
    return [int(x) for x in rng.random(groups * each) < np.repeat(coins_G, each)]


def coverage(groups: list[int] | None, repeats: int = 300) -> float:
    """How often an interval holds the score that all rows there could be have, which is a half."""
    intervals = [evaluation(alike(seed), groups=groups).interval(samples=300) for seed in range(repeats)]
    return float(np.mean([low <= 0.5 <= high for low, high in intervals]))


TENS = [number // 10 for number in range(400)]


def test_intervals_of_rows_that_are_alike_are_as_sure_as_they_say() -> None:
    assert coverage(TENS) >= 0.9
    assert coverage(None) < 0.88, "rows drawn one by one would promise too much"


def test_a_difference_draws_the_same_groups_for_both() -> None:
    ours, theirs = alike(0), alike(1)
    delta = difference(evaluation(ours, groups=TENS), evaluation(theirs, groups=TENS))
    wide = delta.high - delta.low
    single = difference(evaluation(ours), evaluation(theirs))
    assert wide > 1.3 * (single.high - single.low)
    assert difference(evaluation(ours, groups=TENS), evaluation(ours, groups=TENS)) == (0.0, 0.0, 0.0)


def test_a_mean_is_resampled_as_any_other_score() -> None:
    right, names = alike(2), [f"row-{number}" for number in range(400)]
    fast, slow = (evaluation(right, groups=TENS, mean=mean) for mean in (True, False))
    assert fast.interval() == pytest.approx(slow.interval())
    other = evaluation(alike(3)[::-1], names[::-1], TENS[::-1])
    assert difference(fast, other) == pytest.approx(difference(slow, other))


def test_rows_of_a_single_group_are_drawn_one_by_one() -> None:
    right = coin(4)
    assert evaluation(right, groups=[7] * 400).interval() == evaluation(right).interval()


def test_ten_thousand_rows_are_resampled_in_no_time() -> None:
    rows = evaluation(coin(5, count=10_000), groups=[number // 10 for number in range(10_000)])
    began = time.process_time()
    rows.interval()
    assert time.process_time() - began < 0.5


def test_no_score_is_above_one_and_no_share_below_none() -> None:
    groups = [number // 50 for number in range(250)]
    low, high = evaluation([1] * 200 + [0] * 50, groups=groups).interval()
    assert 0.0 <= low < 0.8 < high == 1.0


@pytest.mark.parametrize(("gained", "said"), [(1, "a tie"), (5, "a tie"), (6, "better"), (40, "better")])
def test_few_rows_that_two_differ_in_tell_them_not_apart(gained: int, said: str) -> None:
    """That five of five speak for the same one is chance once in sixteen times."""
    theirs = [1] * 300 + [0] * 700
    ours = [1] * (300 + gained) + [0] * (700 - gained)
    assert difference(evaluation(ours), evaluation(theirs)).word == said


def test_few_groups_that_two_differ_in_tell_them_not_apart() -> None:
    groups = [number // 50 for number in range(250)]
    delta = difference(evaluation([1] * 250, groups=groups), evaluation([1, 0] * 125, groups=groups))
    assert (delta.word, delta.value, delta.low) == ("a tie", 0.5, 0.0)


@pytest.mark.parametrize("count", [6, 8, 15])
def test_two_that_are_equal_are_seldom_called_otherwise_whatever_the_groups(count: int) -> None:
    """Of passages that each take to one of them: five times in a hundred, or a little more."""
    rng = np.random.default_rng(0)
    groups, called = [number // 20 for number in range(20 * count)], 0
    for _ in range(200):
        leaning = np.repeat(rng.normal(0, 0.2, count), 20)
        ours, theirs = ((rng.random(20 * count) < 0.5 + way * leaning) for way in (1, -1))
        delta = difference(
            evaluation(ours.astype(int).tolist(), groups=groups),
            evaluation(theirs.astype(int).tolist(), groups=groups),
            samples=200,
        )
        called += delta.word != "a tie"
    assert called <= 0.12 * 200
