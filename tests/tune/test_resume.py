"""What a resumed search reads in its journal is what the session before it knew."""

from types import SimpleNamespace
from typing import Any

import pytest

from bv_search.scan.checks import Check
from bv_search.scan.trial import TrialConfig
from bv_search.tune.halving import Halving
from bv_search.tune.resume import Past, read_past
from bv_search.tune.rungs import plan_rungs
from bv_search.tune.search import replay
from bv_search.tune.searchers import SEARCHERS
from bv_search.tune.space import parse_space

CONFIG = {"head": {"kind": "pooling"}, "learning_rate": 0.01}
SPACE = parse_space({"space": CONFIG}, "it")
TYPED = TrialConfig.from_json(CONFIG)
RUNGS = plan_rungs([TYPED], 200, halving=True, one_token=True)
FIRST, SECOND = RUNGS.of(TYPED)


def check(position: int, score: float, loss: float = 0.5) -> dict[str, Any]:
    return {"position": position, "rows": 16 * position, "score": score, "loss": loss}


def suggest(trial: str, **more: Any) -> dict[str, Any]:
    return {"event": "suggest", "trial": trial, "config": CONFIG, **more}


def segment(
    trial: str, position: int, found: dict[str, Any] | None, *, has_learned: bool = False
) -> dict[str, Any]:
    about: dict[str, Any] = {"position": position, "found": found, "checks": [], "has_learned": has_learned}
    return {"event": "segment", "trial": trial, "rows": 16 * position, "seconds": 1.0, **about}


def halt(trial: str, status: str) -> dict[str, Any]:
    return {"event": "halt", "trial": trial, "status": status}


def one(*events: dict[str, Any]) -> Past:
    (past,) = read_past([suggest("a"), *events])
    return past


def test_a_trial_that_was_suggested_is_begun_anew() -> None:
    past = one()
    assert (past.position, past.is_live, past.unheard, past.score) == (0, True, None, None)
    assert past.typed_config == TYPED


def test_what_a_head_is_worth_where_it_stands_is_told_again() -> None:
    """Its trial did not live to report it, or nobody knows whether it did."""
    best = check(52, 0.7)
    past = one(segment("a", FIRST, best))
    assert past.unheard == Check(**best)
    assert (past.found, past.score) == ([(FIRST, Check(**best))], 0.7)


def test_a_head_that_was_cut_behind_its_last_score_has_nothing_to_tell() -> None:
    past = one(segment("a", FIRST, check(FIRST, 0.7)), segment("a", FIRST + 13, None))
    assert (past.unheard, past.position, past.score) == (None, FIRST + 13, 0.7)


@pytest.mark.parametrize("status", ["done", "stopped"])
def test_a_trial_whose_training_is_over_has_nothing_to_tell(status: str) -> None:
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


class Desk:
    def __init__(self) -> None:
        self.trials: list[str] = []

    def known(self, past: Past) -> None:
        self.trials.append(past.trial)


def replayed(*events: dict[str, Any]) -> tuple[Halving, Any, Desk]:
    halving, desk = Halving(RUNGS, spared=["probe-all"]), Desk()
    told: dict[str, Any] = {}
    searcher: Any = SimpleNamespace(
        space=SPACE, adopt=lambda trial, draws: told.setdefault(trial, "adopted"), tell=told.__setitem__
    )
    known: Any = desk
    replay(read_past(events), searcher, known, halving)
    return halving, told, desk


def goes_on(halving: Halving, position: int, score: float) -> bool:
    found = Check(**check(position, score))
    halving.hear("new", TYPED, found, position=position, done=False)
    return halving.goes_on("new", position)


def test_a_rung_remembers_who_was_there_and_who_had_learned_before_it() -> None:
    events = [suggest("a"), suggest("b"), suggest("c")]
    assert goes_on(replayed(*events)[0], FIRST, 0.1)

    there = [segment("a", FIRST, check(FIRST, 0.9)), segment("b", FIRST, check(FIRST, 0.8))]
    assert not goes_on(replayed(*events, *there)[0], FIRST, 0.1)
    assert goes_on(replayed(*events, *there)[0], SECOND, 0.1)

    learned = [segment(trial, 91, check(13, 0.9), has_learned=True) for trial in "ab"]
    assert not goes_on(replayed(*events, *learned)[0], FIRST, 0.1)
    assert not goes_on(replayed(*events, *learned)[0], SECOND, 0.1)


def test_the_searcher_hears_of_what_it_proposed_and_nothing_else() -> None:
    trained = [segment("0001", FIRST, check(FIRST, 0.9)), halt("0001", "stopped")]
    probe = [
        suggest("probe-all", rung="probe"),
        segment("probe-all", FIRST, check(FIRST, 1.0)),
        halt("probe-all", "done"),
    ]
    halving, told, desk = replayed(*probe, suggest("0001"), *trained, suggest("0002"))
    assert told == {"0001": 0.9, "0002": "adopted"}
    assert desk.trials == ["probe-all", "0001", "0002"]
    assert goes_on(halving, FIRST, 0.95)


def test_a_real_searcher_takes_up_what_an_earlier_session_drew() -> None:
    searcher, desk = SEARCHERS["random"](SPACE, 0), Desk()
    known: Any = desk
    replay(read_past([suggest("0001"), halt("0001", "done")]), searcher, known, Halving(RUNGS))
    assert desk.trials == ["0001"]
