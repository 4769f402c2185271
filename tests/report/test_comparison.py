"""Runs side by side: the same figures as in each one's own report."""

import json
from pathlib import Path

from bv_search.command import Progress
from bv_search.model.standings import BEST, ENSEMBLE
from bv_search.report.comparison import COLUMNS, names_of, table_of, write_together
from bv_search.report.config import ReportConfig
from bv_search.report.facts import gather
from bv_search.report.report import run as report
from bv_search.run import Run
from tests.model.small_run import Small, copy_run, teach


def test_the_table_says_what_the_report_says(run: Run) -> None:
    facts = gather(run)
    head, _, row, *rest = [line.strip("| ").split(" | ") for line in table_of([facts]).splitlines()]
    said = dict(zip(head, row, strict=True))
    best = facts.standing(BEST)
    assert best is not None
    low, high = best.interval
    assert tuple(head) == COLUMNS
    assert said["task, epochs"] == "squad2-span, 1"
    assert said["best head, parameters"] == (f"{best.score:.3f} [{low:.3f}, {high:.3f}], {best.parameters:,}")
    assert best.delta is not None
    assert said["head and encoder"] == best.delta.word
    assert (said["ensemble"] == "–") == (facts.standing(ENSEMBLE) is None)
    assert not rest


def test_a_name_breaks_neither_the_table_nor_the_chart(run: Run, tmp_path: Path) -> None:
    run.change_study(name="a|b for $5 or $_6")
    table, chart, _ = write_together([gather(run)], tmp_path / "docs")
    *_, row = table.read_text().splitlines()
    assert row.startswith("| a\\|b for $5 or $_6 | ")
    assert ">a|b for $5 or $_6</text>" in chart.read_text()


def test_every_run_has_its_row_and_its_name_in_the_chart(run: Run, tmp_path: Path) -> None:
    facts = gather(run)
    table, chart, _ = write_together([facts, facts], tmp_path / "docs")
    assert len(table.read_text().splitlines()) == 4
    text = chart.read_text()
    assert text.count(f">{run.study.name}</text>") == 2
    assert "currentColor" not in text


def test_a_report_writes_them_where_it_is_told_to(run: Run, tmp_path: Path) -> None:
    config = ReportConfig(runs=(str(run.path),), mlflow=False, together=str(tmp_path / "docs"))
    said = report(config, Progress(quiet=True))
    assert sorted(path.name for path in (tmp_path / "docs").iterdir()) == [
        "results.html",
        "results.md",
        "results.svg",
    ]
    assert said.to_json()["together"] == [str(path) for path in said.together]
    assert str(tmp_path / "docs" / "results.md") in said.text()


def test_runs_of_one_store_are_compared_row_by_row(small: Small, run: Run, tmp_path: Path) -> None:
    other = copy_run(small, tmp_path / "runs" / "second")
    other.change_study(name="second", data_fraction=0.5)
    teach(small, other, "0003", 0.9)
    said = report(ReportConfig(runs=(str(run.path), str(other.path)), mlflow=False), Progress(quiet=True))
    page = (run.path.parent / "results.html").read_text()
    assert said.together[-1] == run.path.parent / "results.html"
    assert "In 1 of 2 runs the best head is a gain" in page
    assert "best head over that of first" in page
    assert 'href="second/report.html"' in page
    assert "<td>better</td>" in page
    data = json.loads(page.partition('id="linked">')[2].partition("</script>")[0])
    assert data["group"] == "run"
    assert {"first/0003", "second/0003"} <= set(data["ids"])
    assert "data_fraction" in data["x"]  # of the data, in which these differ
    assert "epochs" not in data["x"]  # of fine-tuning, in which they do not


def test_runs_of_one_name_are_told_apart_by_their_places(small: Small, run: Run, tmp_path: Path) -> None:
    other = copy_run(small, tmp_path / "elsewhere" / "first")
    assert names_of([gather(run), gather(other)]) == [str(run.path), str(other.path)]
    assert names_of([gather(run)]) == ["first"]
