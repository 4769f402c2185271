"""The front: no head of it is beaten in both score and size."""

import csv
from typing import Any

from bv_search.run.folder import Run
from bv_search.run.front import find_front, front_text
from bv_search.run.study import FRONT
from bv_search.run.trial import TrialRecord


def record(name: str, score: float, parameters: int, **more: Any) -> TrialRecord:
    about: dict[str, Any] = {"status": "done", "score": score, "loss": 0.5, "report_score": score, **more}
    return TrialRecord(id=name, config={}, parameters=parameters, **about)


RECORDS = [
    record("best", 0.9, 900),
    record("beaten", 0.7, 500),
    record("good", 0.8, 400),
    record("twin", 0.8, 400, loss=0.6),
    record("larger", 0.8, 401),
    record("small", 0.5, 10),
    record("failed", 1.0, 1, status="failed"),
]


def test_it_goes_from_the_smallest_head_up_to_the_best() -> None:
    front = find_front(RECORDS)
    assert [each.id for each in front] == ["small", "good", "best"]
    assert [line.split()[:2] for line in front_text(front).splitlines()[1:]] == [
        ["small", "10"],
        ["good", "400"],
        ["best", "900"],
    ]
    assert find_front([]) == []


def test_a_run_that_looks_for_one_says_so_in_its_leaderboard(finished_run: Run) -> None:
    assert finished_run.front() is None
    assert "front" not in finished_run.write_leaderboard().read_text()
    finished_run.change_study(objective=FRONT)
    front = finished_run.front()
    rows = list(csv.DictReader(finished_run.write_leaderboard().open(newline="")))
    assert front
    assert {row["trial"] for row in rows if row["front"] == "yes"} == {each.id for each in front}
    assert {row["front"] for row in rows} == {"yes", "no"}
