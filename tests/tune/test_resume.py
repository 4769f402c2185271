"""What a resumed search reads in its journal is what the session before it knew."""

from types import SimpleNamespace
from typing import Any

import pytest

from bv_search.scan.checks import Check
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import parse_space
from bv_search.tune.budget import Budget
from bv_search.tune.dispatcher import Dispatcher
from bv_search.tune.halving import Halving
from bv_search.tune.packing import Packer, plan_rungs
from bv_search.tune.resume import Past, read_past, read_round
from bv_search.tune.searchers import SEARCHERS
from bv_search.tune.trials import teach

CONFIG = {"head": {"kind": "pooling"}, "learning_rate": 0.01}
SPACE = parse_space({"space": CONFIG}, "it")
TYPED = TrialConfig.from_json(CONFIG)
RUNGS = plan_rungs([TYPED], 200, halving=True, one_token=True)
FIRST, SECOND, *_ = RUNGS.of(TYPED)


def check(position: int, score: float, loss: float = 0.5) -> dict[str, Any]:
    return {"position": position, "rows": 16 * position, "score": score, "loss": loss}


def suggest(trial: str, **more: Any) -> dict[str, Any]:
    return {"event": "suggest", "trial": trial, "config": CONFIG, **more}


def segment(
    trial: str, position: int, found: dict[str, Any] | None, *, has_learned: bool = False
) -> dict[str, Any]:
    about: dict[str, Any] = {"position": position, "found": found, "checks": [], "has_learned": has_learned}
    return {"event": "segment", "trial": trial, "rows": 16 * position, "seconds": 1.0, "state": "", **about}


def halt(trial: str, status: str) -> dict[str, Any]:
    return {"event": "halt", "trial": trial, "status": status}


def one(*events: dict[str, Any]) -> Past:
    (past,) = read_past([suggest("a"), *events])
    return past


def test_a_trial_that_was_suggested_is_begun_anew() -> None:
    past = one()
    assert (past.position, past.is_live, past.unheard, past.score) == (0, True, None, None)
    assert past.typed_config == TYPED


def test_what_a_head_is_worth_where_it_stands_is_known() -> None:
    """Where its round was broken off, it is judged by that."""
    best = check(52, 0.7)
    past = one(segment("a", FIRST, best))
    assert past.unheard == Check(**best)
    assert (past.found, past.score) == ([(FIRST, Check(**best))], 0.7)


def test_a_head_that_was_cut_behind_its_last_score_is_not_judged_by_it() -> None:
    past = one(segment("a", FIRST, check(FIRST, 0.7)), segment("a", FIRST + 13, None))
    assert (past.unheard, past.position, past.score) == (None, FIRST + 13, 0.7)


@pytest.mark.parametrize("status", ["done", "stopped"])
def test_a_trial_whose_training_is_over_is_judged_no_more(status: str) -> None:
    past = one(segment("a", FIRST, check(FIRST, 0.7)), halt("a", status))
    assert (past.is_live, past.unheard, past.status, past.finished) == (False, None, status, False)


def test_one_that_has_learned_stays_so() -> None:
    past = one(segment("a", 39, None), segment("a", 91, check(13, 0.7), has_learned=True))
    assert (past.has_learned, past.position) == (True, 91)


def test_a_failed_trial_has_no_score() -> None:
    failed = {"event": "finish", "trial": "a", "status": "failed", "reason": "diverged"}
    past = one(segment("a", FIRST, check(FIRST, 0.7)), failed)
    assert (past.score, past.finished, past.is_live) == (None, True, False)


def test_rungs_of_the_ladder_are_known_as_such() -> None:
    past = read_past([suggest("majority", rung="majority"), suggest("0001")])
    assert [(each.trial, each.rung) for each in past] == [("majority", "majority"), ("0001", None)]


def recalled(*events: dict[str, Any]) -> Halving:
    """What a dispatcher knows of earlier sessions."""
    halving, none = Halving(RUNGS, spared=["probe-all"]), SimpleNamespace()
    parts: dict[str, Any] = dict.fromkeys(("workers", "recorder", "progress"), none)
    dispatcher = Dispatcher(packer=Packer(RUNGS, 8), halving=halving, total=0, budget=Budget(None), **parts)
    for past in read_past(events):
        dispatcher.recall(past)
    return halving


def taught(*events: dict[str, Any]) -> dict[str, Any]:
    told: dict[str, Any] = {}
    searcher: Any = SimpleNamespace(
        space=SPACE, adopt=lambda trial, draws: told.setdefault(trial, "adopted"), tell=told.__setitem__
    )
    teach(searcher, read_past(events))
    return told


def goes_on(halving: Halving, position: int, score: float) -> bool:
    found = Check(**check(position, score))
    halving.hear("new", TYPED, found, position=position, done=False)
    return halving.goes_on("new", position)


def test_a_rung_remembers_who_was_there_and_who_had_learned_before_it() -> None:
    events = [suggest("a"), suggest("b"), suggest("c")]
    assert goes_on(recalled(*events), FIRST, 0.1)

    there = [segment("a", FIRST, check(FIRST, 0.9)), segment("b", FIRST, check(FIRST, 0.8))]
    assert not goes_on(recalled(*events, *there), FIRST, 0.1)
    assert goes_on(recalled(*events, *there), SECOND, 0.1)

    learned = [segment(trial, 26, check(13, 0.9), has_learned=True) for trial in "ab"]
    assert not goes_on(recalled(*events, *learned), FIRST, 0.1)
    assert not goes_on(recalled(*events, *learned), SECOND, 0.1)


def test_the_searcher_hears_of_what_it_proposed_and_nothing_else() -> None:
    trained = [segment("0001", FIRST, check(FIRST, 0.9)), halt("0001", "stopped")]
    probe = [
        suggest("probe-all", rung="probe"),
        segment("probe-all", FIRST, check(FIRST, 1.0)),
        halt("probe-all", "done"),
    ]
    events = [*probe, suggest("0001"), *trained, suggest("0002")]
    assert taught(*events) == {"0001": 0.9, "0002": "adopted"}
    assert goes_on(recalled(*events), FIRST, 0.95)


def test_a_real_searcher_takes_up_what_an_earlier_session_drew() -> None:
    searcher = SEARCHERS["random"](SPACE, 0)
    teach(searcher, read_past([suggest("0001"), halt("0001", "done")]))
    assert searcher.pending == {}


def begun(*orders: str, stop: int = FIRST) -> dict[str, Any]:
    said = [{"trials": list(order), "stop": stop, "score": list(order)} for order in orders]
    return {"event": "round", "orders": said}


def left_of(*events: dict[str, Any]) -> tuple[list[list[str]], list[str]]:
    orders, are_in = read_round(events, read_past(events))
    assert all(order.stop == FIRST and order.score == set("abcd") & order.score for order in orders)
    return [order.trials for order in orders], [each.trial for each in are_in]


def test_a_round_is_read_as_far_as_it_came() -> None:
    events = [suggest(trial) for trial in "abcd"]
    assert left_of(*events) == ([], [])
    events.append(begun("ab", "cd"))
    assert left_of(*events) == ([["a", "b"], ["c", "d"]], [])
    first = [segment(trial, FIRST, check(FIRST, 0.7)) for trial in "cd"]
    assert left_of(*events, *first) == ([["a", "b"]], ["c", "d"])
    second = [segment("a", FIRST, check(FIRST, 0.6)), {"event": "finish", "trial": "b", "status": "failed"}]
    assert left_of(*events, *first, *second) == ([], ["a", "c", "d"])
    assert left_of(*events, *first, *second, halt("c", "stopped")) == ([], ["a", "d"])
    assert left_of(*events, *first, *second, begun("ad")) == ([["a", "d"]], [])


def test_a_head_that_is_over_goes_nowhere() -> None:
    """Its round was given up, and its end is written."""
    trained = [segment(trial, 26, check(13, 0.6)) for trial in "ab"]
    events = [*map(suggest, "ab"), *trained, begun("ab"), halt("a", "stopped")]
    assert left_of(*events) == ([["b"]], [])


def test_heads_of_a_round_go_from_where_they_stood() -> None:
    events = [suggest("a"), segment("a", 39, None), begun("a", stop=FIRST)]
    (order,), _ = read_round(events, read_past(events))
    assert [(head.position, head.config) for head in order.heads] == [(39, TYPED)]
