"""Optuna's samplers draw at random until they were told enough, and hear of what is still out."""

import pytest

from bv_search.space.space import parse_space
from bv_search.tune.searchers.optuna import Optuna, OptunaGp, OptunaTpe
from bv_search.tune.searchers.random import Random

SPACE = parse_space(
    {"space": {"head": {"kind": "pooling"}, "learning_rate": {"loguniform": [1e-5, 1.0]}}}, "rates"
)


def taught(kind: type[Optuna], points: int) -> Optuna:
    """A rate is the better the nearer it is to 1."""
    searcher, source = kind(SPACE, 0), Random(SPACE, 1)
    for number in range(1, points + 1):
        draws = source.ask(f"{number:04d}") or {}
        searcher.adopt(f"{number:04d}", draws)
        searcher.tell(f"{number:04d}", float(draws["learning_rate"]))
    return searcher


@pytest.mark.parametrize("kind", [OptunaTpe, OptunaGp])
def test_it_draws_at_random_until_it_was_told_enough(kind: type[Optuna]) -> None:
    few = kind.startup_points or 0
    for points, is_random in ((few - 1, True), (few, False)):
        assert (taught(kind, points).ask("0100") == Random(SPACE, 0).ask("0100")) is is_random


def test_what_is_still_out_changes_what_is_proposed() -> None:
    alone, beside = taught(OptunaTpe, 20), taught(OptunaTpe, 20)
    for number in range(50, 60):
        beside.adopt(f"{number:04d}", {"learning_rate": 0.9})
    assert alone.ask("0100") != beside.ask("0100")
