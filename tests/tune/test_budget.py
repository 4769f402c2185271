"""What ends a search before its last trial."""

import time
from typing import Any

import pytest

from bv_search.scan.checks import Check
from bv_search.scan.trial import TrialConfig
from bv_search.tune.budget import Budget
from bv_search.tune.resume import Past

CONFIG = TrialConfig.from_json({"head": {"kind": "pooling"}, "learning_rate": 0.01})


def test_it_is_spent_when_its_seconds_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    ours = Budget(30.0)
    assert (ours.left, ours.is_spent, ours.is_spent) == (30.0, False, False)
    now = 131.0
    assert (ours.left, ours.is_spent, ours.is_spent) == (0.0, True, True)


def test_without_seconds_it_is_never_spent() -> None:
    assert Budget(None).left is None
    assert not Budget(None).is_spent


def test_a_score_that_is_enough_ends_it() -> None:
    ours = Budget(None, target=0.7, ladder=["probe-all"])
    ours.hear("0001", 0.69)
    assert not ours.is_spent
    ours.hear("probe-all", 0.7)
    ours.hear("0002", 0.9)
    assert ours.reason == "trial probe-all has 0.7000 on select, and the target is 0.7", "the first one"


def test_trials_without_a_new_best_end_it_in_the_order_of_their_ends() -> None:
    ours = Budget(None, patience=2, ladder=["probe-all"])
    ours.hear("0003", 0.9)
    for trial, score in (("0001", 0.5), ("0002", 0.5), ("probe-all", 0.1)):
        ours.hear(trial, score)
        ours.count(trial, CONFIG)
    assert not ours.is_spent, "what has not ended is not waited for, nor are rungs"
    ours.count("0002", CONFIG)
    assert not ours.is_spent, "once each"
    ours.count("0003", CONFIG)
    ours.count("a failed one", CONFIG)
    assert not ours.is_spent
    ours.hear("0004", 0.9)
    ours.count("0004", CONFIG)
    assert ours.reason == "2 trials in a row without a gain"


def past(trial: str, score: float, ended: float, *, is_cut: bool = False) -> Past:
    found = [(48, Check(position=48, rows=768, score=score, loss=0.5))]
    about = {"trial": trial, "config": CONFIG.to_json(), "position": 48, "found": found, "ended": ended}
    return Past(**about, status="stopped", is_cut=is_cut)  # type: ignore[arg-type]


def test_a_resumed_search_has_waited_already() -> None:
    known = [past("0001", 0.5, 9), past("0002", 0.9, 3), past("0003", 0.1, 7, is_cut=True)]
    ours = Budget(None, patience=2)
    ours.recall(known)
    assert ours.reason is None, "one ended after the best; another one was not given its time"
    ours.count("0004", CONFIG)
    assert ours.is_spent
    late = Budget(None, target=0.9)
    late.recall(known)
    assert late.is_spent


def test_the_first_reason_is_the_one() -> None:
    ours = Budget(0.0)
    ours.stop("interrupted")
    assert ours.reason == "its time is up"


def test_on_a_front_a_small_head_is_a_gain() -> None:
    heads = {size: TrialConfig.from_json(adapter(size)) for size in (4, 8, 16)}
    ours = Budget(None, patience=2, size=lambda config: config.head.size)  # type: ignore[attr-defined]
    for trial, size, score in (("1", 8, 0.7), ("2", 16, 0.7), ("3", 4, 0.6), ("4", 4, 0.6)):
        ours.hear(trial, score)
        ours.count(trial, heads[size])
        assert ours.reason is None
    ours.hear("5", 0.65)
    ours.count("5", heads[8])
    assert ours.reason == "2 trials in a row without a gain"


def adapter(size: int) -> dict[str, Any]:
    return {"head": {"kind": "adapter", "size": size}, "learning_rate": 0.01}


def test_an_interrupt_is_one_whatever_the_reason_was() -> None:
    ours = Budget(None)
    ours.stop("2 trials in a row without a gain")
    said = [ours.is_interrupted]
    ours.interrupt()
    said.append(ours.is_interrupted)
    assert said == [False, True]
    assert ours.reason == "2 trials in a row without a gain"


def test_a_head_that_failed_was_no_gain() -> None:
    ours = Budget(None, patience=2)
    ours.hear("1", 0.9)
    ours.forget("1")
    ours.count("1", CONFIG)
    ours.hear("2", 0.5)
    ours.count("2", CONFIG)
    assert ours.reason is None
    for trial in ("3", "4"):
        ours.hear(trial, 0.4)
        ours.count(trial, CONFIG)
    assert ours.is_spent
