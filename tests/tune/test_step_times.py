"""Seconds are told by step, and add up."""

import time

import pytest

from bv_search.tune.step_times import StepTimes, describe


def times(**noted: float) -> StepTimes:
    return StepTimes(noted=noted)


def test_what_is_left_of_the_search_is_scheduling() -> None:
    spent = times(start=5.0, search=20.0, score=2.0, register=1.0).spent({"solve": 3.0, "segment": 12.0})
    assert spent == {
        "total": 28.0,
        "start": 5.0,
        "ladder": 3.0,
        "scan": 12.0,
        "schedule": 5.0,
        "score": 2.0,
        "register": 1.0,
    }
    assert spent["total"] == sum(seconds for step, seconds in spent.items() if step != "total")


def test_work_after_the_search_is_no_part_of_it() -> None:
    spent = times(start=1.0, search=2.0, finale=9.0).spent({"segment": 2.5, "finale": 9.0, "final": 1.0})
    assert (spent["scan"], spent["schedule"], spent["finale"]) == (2.5, 0.0, 9.0)


def test_a_note_takes_what_no_note_has_taken() -> None:
    running = StepTimes(begun=time.monotonic() - 10.0)
    running.note("start")
    running.note("search")
    assert running.noted["start"] == pytest.approx(10.0, abs=1.0)
    assert 0.0 <= running.noted["search"] < 1.0


def test_steps_without_time_are_not_named() -> None:
    spent = times(start=5.04, search=20.0, finale=0.01).spent({"segment": 20.0})
    assert describe(spent) == "time: 25.1 s: start 5.0, scan 20.0"
