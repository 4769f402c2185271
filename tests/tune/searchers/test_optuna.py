"""Optuna's samplers draw at random until they were told enough, and hear of what is still out."""

from typing import Any

import pytest
from optuna.trial import FrozenTrial, create_trial

from bv_search.space.space import parse_space
from bv_search.tune.searchers import optuna as module
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


def test_a_point_is_made_once_and_anew_when_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[float] = []

    def listen(**more: Any) -> FrozenTrial:
        made.append(more["params"]["learning_rate"])
        return create_trial(**more)

    monkeypatch.setattr(module, "create_trial", listen)
    searcher = taught(OptunaTpe, 12)
    first = searcher.ask("0100")
    assert len(made) == 12
    searcher.ask("0101")
    assert made[12:] == [(first or {})["learning_rate"]], "that is pending now"
    searcher.tell("0100", 0.5)
    searcher.ask("0102")
    assert len(made) == 15


def test_a_study_shares_what_is_in_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deep copies of ten thousand took a second and more for each question."""
    searcher = taught(OptunaTpe, 12)
    searcher.ask("0100")
    monkeypatch.setattr(FrozenTrial, "__deepcopy__", pytest.fail, raising=False)
    searcher.ask("0101")


def test_what_is_still_out_changes_what_is_proposed() -> None:
    alone, beside = taught(OptunaTpe, 20), taught(OptunaTpe, 20)
    for number in range(50, 60):
        beside.adopt(f"{number:04d}", {"learning_rate": 0.9})
    assert alone.ask("0100") != beside.ask("0100")
