"""What every searcher knows: what was asked for, what was told, and what is still out."""

from bv_search.space.space import Draws, parse_space
from bv_search.tune.searchers.random import Random

SPACE = parse_space(
    {"space": {"head": {"kind": "linear", "channels": {"choice": [0, 1, 2]}}, "learning_rate": 0.01}}, "few"
)


def points(count: int) -> list[Draws]:
    searcher = Random(SPACE, 0)
    found = [searcher.ask(f"{number:04d}") for number in range(1, count + 1)]
    return [draws for draws in found if draws is not None]


def test_what_is_told_stands_in_the_order_of_numbers_whatever_was_told_first() -> None:
    searcher = Random(SPACE, 0)
    first, second = searcher.ask("0001"), searcher.ask("0002")
    searcher.tell("0002", 0.2)
    assert searcher.pending == {1: first}
    searcher.tell("0001", 0.1)
    assert list(searcher.told.items()) == [(1, (first, 0.1)), (2, (second, 0.2))]
    assert searcher.pending == {}


def test_one_that_failed_is_over_and_has_no_score() -> None:
    searcher = Random(SPACE, 0)
    searcher.ask("0001")
    searcher.tell("0001", None)
    assert searcher.told == {}
    assert searcher.pending == {}


def test_a_point_is_proposed_once_as_long_as_others_are_left() -> None:
    first, second, third, fourth = (draws["head.channels"] for draws in points(4))
    assert {first, second, third} == {0, 1, 2}
    assert fourth in {0, 1, 2}


def test_what_other_searches_scored_comes_before_the_first_trial_and_is_not_proposed_again() -> None:
    known, *_ = points(1)
    searcher = Random(SPACE, 0)
    searcher.remember([(known, 0.7)])
    assert searcher.told == {-1: (known, 0.7)}
    assert known not in [searcher.ask("0001"), searcher.ask("0002")]


def test_a_point_that_does_not_fit_is_counted_and_drawn_again() -> None:
    searcher = Random(SPACE, 0, lambda draws: draws["head.channels"] == 2)
    for number in range(1, 9):
        assert (searcher.ask(f"{number:04d}") or {})["head.channels"] == 2
    assert searcher.refused > 0
