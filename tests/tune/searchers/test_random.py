"""Independent draws, by the seed and the trial's number."""

from bv_search.space.space import Draws, parse_space
from bv_search.tune.searchers.random import Random

SPACE = parse_space(
    {"space": {"head": {"kind": "pooling"}, "learning_rate": {"uniform": [1e-6, 1.0]}}}, "rates"
)


def rates(searcher: Random, *numbers: int) -> list[float]:
    draws: list[Draws] = [searcher.ask(f"{number:04d}") or {} for number in numbers]
    return [float(each["learning_rate"]) for each in draws]


def test_what_is_told_changes_nothing() -> None:
    told, untold = Random(SPACE, 0), Random(SPACE, 0)
    for number in range(1, 21):
        assert rates(told, number) == rates(untold, number)
        told.tell(f"{number:04d}", 1.0 / number)


def test_a_trial_has_the_same_point_whatever_was_asked_for_before() -> None:
    assert rates(Random(SPACE, 0), 3, 1, 2) == [rates(Random(SPACE, 0), number)[0] for number in (3, 1, 2)]


def test_draws_are_all_over_the_space() -> None:
    found = rates(Random(SPACE, 0), *range(200))
    quarters = [sum(low <= rate < low + 0.25 for rate in found) for low in (0.0, 0.25, 0.5, 0.75)]
    assert min(quarters) > 30
