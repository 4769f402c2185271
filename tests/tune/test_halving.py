"""Of the heads that come to a rung the best third goes on."""

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from ray.tune.schedulers import TrialScheduler

from bv_search.scan.trial import TrialConfig
from bv_search.tune.halving import Halving
from bv_search.tune.rungs import Rungs, plan_rungs
from bv_search.tune.thin_trial import TRIAL


@pytest.fixture
def rungs() -> Rungs:
    config = TrialConfig.from_json({"head": {"kind": "pooling"}, "epochs": 3})
    return plan_rungs([config], 3300, halving=True)


def judge(halving: Halving, position: int, scores: dict[str, float]) -> list[str]:
    """Heads that came to a rung together, asked in any order: those that go on."""
    for name, score in scores.items():
        halving.hear(name, position, score)
    names = Random(0).sample(list(scores), len(scores))
    return sorted(name for name in names if answer(halving, name, position) == TrialScheduler.CONTINUE)


def answer(halving: Halving, name: str, position: int) -> str:
    trial: Any = SimpleNamespace(config={TRIAL: name})
    return halving.on_trial_result(None, trial, {"position": position})


@pytest.mark.parametrize(("heads", "going"), [(1, 1), (2, 1), (3, 1), (4, 2), (9, 3), (32, 11)])
def test_of_a_pack_the_best_third_goes_on_at_every_rung(rungs: Rungs, heads: int, going: int) -> None:
    halving = Halving(rungs)
    scores = {f"{number:02}": -float(number) for number in range(heads)}
    for position in rungs.positions:
        assert judge(halving, position, scores) == sorted(scores)[:going]


def test_those_that_come_later_are_judged_among_all(rungs: Rungs) -> None:
    halving, first = Halving(rungs), rungs.positions[0]
    assert judge(halving, first, {"a": 0.9, "b": 0.8, "c": 0.1}) == ["a"]
    assert judge(halving, first, {"d": 0.85, "e": 0.2, "f": 0.3}) == ["d"]
    assert judge(halving, first, {"g": 0.5}) == []


def test_of_equal_heads_all_go_on(rungs: Rungs) -> None:
    assert judge(Halving(rungs), rungs.positions[0], dict.fromkeys("abcdef", 0.5)) == list("abcdef")


def test_a_place_that_is_no_rung_judges_nobody(rungs: Rungs) -> None:
    halving = Halving(rungs)
    assert judge(halving, rungs.positions[0] + 1, {"a": 0.9, "b": 0.1}) == ["a", "b"]
    assert judge(Halving(Rungs(windows=3300, positions=(), last=10)), 10, {"a": 0.9, "b": 0.1}) == ["a", "b"]
