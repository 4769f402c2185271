"""What no search writes is no event, whatever its checksum says."""

from typing import Any

import pytest

from bv_search.errors import RunError
from bv_search.run import Run
from bv_search.run.events import check_events
from tests.run.conftest import encore, finish, segment

SUGGEST = {"event": "suggest", "trial": "a", "config": {"lr": 0.1}}


def check(*events: dict[str, Any]) -> None:
    check_events(events, "journal.jsonl")


def test_what_a_search_writes_is_taken(finished_run: Run) -> None:
    check_events(finished_run.events(), "journal.jsonl")
    orders = [{"trials": ["a"], "stop": 4, "score": ["a"]}]
    check(
        SUGGEST,
        {"event": "round", "orders": orders},
        segment("a", 16, 0.5),
        {"event": "scoring", "packs": [["a"]]},
        finish("a", 0.5, 0.4),
        encore("a"),
        {"event": "end", "seconds": {"search": 1.0}, "why": "all trials are done"},
    )


def test_events_of_later_versions_and_further_keys_are_let_be() -> None:
    check({"event": "weather", "sky": "blue"}, {**SUGGEST, "mood": "good"})


@pytest.mark.parametrize(
    "event",
    [
        segment("b", 16, 0.5),
        finish("b", 0.5, 0.4),
        encore("b"),
        {"event": "halt", "trial": "b", "status": "stopped"},
        {"event": "round", "orders": [{"trials": ["a", "b"], "stop": 4, "score": []}]},
        {"event": "scoring", "packs": [["a"], ["b"]]},
        {"event": "finale", "packs": [["b"]]},
    ],
    ids=lambda event: event["event"],
)
def test_a_trial_that_was_never_suggested_is_named(event: dict[str, Any]) -> None:
    with pytest.raises(RunError, match=r"event 2: is of a trial that was never suggested; found 'b'"):
        check(SUGGEST, event)
    with pytest.raises(RunError, match="never suggested"):
        check(event, {**SUGGEST, "trial": "b"})


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "a\\b", "a\0"])
def test_a_trials_name_is_that_of_a_folder(name: str) -> None:
    with pytest.raises(RunError, match=r"event 1: .*trial; expected the name of a trial"):
        check({**SUGGEST, "trial": name})


@pytest.mark.parametrize(
    ("event", "complaint"),
    [
        ({"trial": "a"}, "expected an event; found None"),
        ({"event": 3}, "expected an event; found 3"),
        ({"event": "suggest", "trial": "a"}, "config"),
        ({**finish("a", 0.5, 0.4), "status": "happy"}, "status"),
        ({**segment("a", 16, 0.5), "rows": -1}, "rows"),
        ({"event": "end", "seconds": {"search": "long"}}, "seconds"),
    ],
)
def test_an_event_that_makes_no_sense_says_where(event: dict[str, Any], complaint: str) -> None:
    with pytest.raises(RunError, match=complaint) as caught:
        check(SUGGEST, event)
    assert "journal.jsonl event 2" in str(caught.value)
    assert "\n" not in str(caught.value)
