"""What a search says at its end, for a reader and for a program."""

import pytest

from bv_search.run import Run
from bv_search.run.study import FRONT
from bv_search.tune.summary import describe, to_json
from tests.model.small_run import Small, teach


@pytest.fixture
def ended(run: Run) -> Run:
    """With the memory that a search notes at its end."""
    memory = {"peak_scan_worker": 2_500_000_000}
    run.journal.append({"event": "end", "seconds": {"total": 1.0}, "memory": memory})
    return run


def test_the_best_head_stands_beside_encoder_and_ladder(small: Small, ended: Run) -> None:
    teach(small, ended, "0002", 0.95)
    said = to_json(ended)
    assert (said["trials"], said["failed"]) == (3, 0)
    assert said["best"]["trial"] == "0002"
    assert [rung["rung"] for rung in said["ladder"]] == ["majority", "encoder", "probe"]
    assert said["best"]["over_encoder"]["verdict"] == "better"
    assert said["best"]["best_of"] >= 3
    assert said["front"] is None


def test_a_front_is_told_where_it_was_looked_for(ended: Run) -> None:
    ended.change_study(objective=FRONT)
    front = to_json(ended)["front"]
    assert [head["trial"] for head in front] == [record.id for record in ended.front() or ()]
    assert front


def test_a_reader_is_told_what_failed_what_it_took_and_what_to_do_next(ended: Run) -> None:
    ended.journal.append({"event": "suggest", "trial": "0009", "config": {"head": {"kind": "pooling"}}})
    ended.journal.append({"event": "finish", "trial": "0009", "status": "failed", "reason": "diverged"})
    text = describe(ended)
    assert "trial 0009 failed: diverged" in text
    assert "peak memory of a scan worker: 2.50 GB" in text
    assert "smallest within one standard error (" in text
    assert text.endswith(f"next: bv-search report {ended.path}")
    assert to_json(ended)["failed"] == 1


def test_where_no_head_has_finished_there_is_no_best(small: Small, ended: Run) -> None:
    for record in ended.trials():
        failed = {"status": "failed", "reason": "diverged"}
        ended.journal.append({"event": "finish", "trial": record.id, **failed})
    said = to_json(ended)
    assert (said["best"], said["smallest"], said["ladder"]) == (None, None, [])
    assert "next: " not in describe(ended)
