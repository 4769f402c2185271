import csv

import pytest

from bv_search.run import Run, leaderboard_text
from bv_search.run.leaderboard import best, leaderboard, smallest, standard_error, summary
from tests.run.conftest import encore, finish


def test_the_leaderboard_is_sorted_by_select_and_ends_with_failures(finished_run: Run) -> None:
    rows = list(csv.DictReader(finished_run.write_leaderboard().open(newline="")))
    assert [row["trial"] for row in rows] == ["a", "b", "c"]
    assert rows[0]["config.head.size"] == "64"
    assert (rows[0]["select_score"], rows[0]["report_score"]) == ("0.6", "0.5")
    assert rows[2]["reason"] == "loss is not a number after 16 rows"


def test_of_equal_scores_the_lower_loss_comes_first_then_the_smaller_head(run: Run) -> None:
    for trial in "abcd":
        run.journal.append({"event": "suggest", "trial": trial, "config": {}})
    run.journal.append(
        finish("a", 0.6, 0.5, parameters=10, loss=0.4),
        finish("b", 0.6, 0.5, parameters=90, loss=0.3),
        finish("c", 0.6, 0.5, parameters=9, loss=0.4),
        finish("d", 0.7, 0.5, parameters=90, loss=0.9),
    )
    assert [record.id for record in leaderboard(run.trials())] == ["d", "b", "c", "a"]
    rows = list(csv.DictReader(run.write_leaderboard().open(newline="")))
    assert [row["select_loss"] for row in rows] == ["0.9", "0.3", "0.4", "0.4"]


@pytest.mark.parametrize(("spread", "expected"), [(0.001, "a"), (0.006, "b")])
def test_the_smallest_head_is_within_a_standard_error_of_the_best_on_select(
    run: Run, spread: float, expected: str
) -> None:
    """Of the best one's score, whatever that of the smaller one's is; report has no say."""
    for trial in "abc":
        run.journal.append({"event": "suggest", "trial": trial, "config": {}})
    run.journal.append(
        finish("a", 0.6, 0.5, parameters=40, draws=[0.6 - spread, 0.6, 0.6 + spread]),
        finish("b", 0.595, 0.55, parameters=10, draws=[0.2, 0.9]),
        finish("c", 0.4, 0.9, parameters=1, draws=[0.2, 0.9]),
    )
    records = run.trials()
    assert standard_error(best(records)[0]) == pytest.approx(spread)
    assert smallest(records).id == expected


def test_of_a_finalist_the_mean_of_its_copies_comes_first(run: Run) -> None:
    """All three have one score on select. Of equal heads the smaller one would come first."""
    run.journal.append({"event": "suggest", "trial": "0002", "config": {}})
    run.journal.append(finish("0002", 0.6, 0.5, parameters=50), encore("0002"))
    assert [record.id for record in leaderboard(run.trials())] == ["0002-bagged", "0002", "0002-single"]
    rows = list(csv.DictReader(run.write_leaderboard().open(newline="")))
    assert [(row["of"], row["select_score"], row["report_score"]) for row in rows] == [
        ("0002", "0.6", "0.62"),
        ("", "0.6", "0.5"),
        ("0002", "0.6", "0.61"),
    ]
    assert smallest(run.trials()).id == "0002-single"


def test_the_text_begins_with_the_encoder(finished_run: Run) -> None:
    lines = leaderboard_text(finished_run.trials(), finished_run.study.baseline).splitlines()
    assert lines[1].split()[:3] == ["encoder", "0.4000", "0.4500"]
    assert lines[2].split()[:4] == ["1", "a", "0.6000", "0.5000"]
    assert "loss is not a number" in lines[4]
    assert leaderboard_text(finished_run.trials(), limit=1).endswith("… and 2 more")


def test_a_summary_has_the_fields_that_commands_print(finished_run: Run) -> None:
    assert summary(best(finished_run.trials())[0]) == {
        "trial": "a",
        "of": None,
        "score": 0.5,
        "select_score": 0.6,
        "interval": [0.4, 0.6],
        "parameters": 40,
        "percent": 4.0,
        "config": {"head": {"size": 64}, "lr": 0.001},
    }


def test_rungs_of_the_ladder_are_told_from_what_was_searched(run: Run) -> None:
    for trial, rung in (("0001", {}), ("probe-4", {"rung": "probe"})):
        report = {"score": 0.5, "interval": [0.4, 0.6]}
        run.journal.append(
            {"event": "suggest", "trial": trial, "config": {"head": {"kind": "linear"}}, **rung},
            {"event": "finish", "trial": trial, "status": "done", "score": 0.5, "report": report},
        )
    rows = list(csv.DictReader(run.write_leaderboard().open(newline="")))
    assert [(row["trial"], row["rung"]) for row in rows] == [("0001", ""), ("probe-4", "probe")]
    assert "probe-4" in leaderboard_text(run.trials())
