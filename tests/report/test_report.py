"""A report is the same for the same run, whatever stands in it."""

from bv_search.command import Progress
from bv_search.report.config import ReportConfig
from bv_search.report.report import run as write
from bv_search.run import Run

QUIET = Progress(quiet=True)


def test_the_same_run_gives_the_same_page(written: tuple[Run, str, str]) -> None:
    run, html, markdown = written
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert (run.path / "report.html").read_text() == html
    assert (run.path / "report.md").read_text() == markdown


def test_names_cannot_put_markup_on_the_page(run: Run) -> None:
    run.change_study(name="<script>alert(1)</script>", searcher="a|b")
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert "<script>alert" not in (run.path / "report.html").read_text()


def test_a_failed_trial_stands_on_the_board_with_its_reason(run: Run) -> None:
    run.journal.append({"event": "suggest", "trial": "0009", "config": {"head": {"kind": "pooling"}}})
    run.journal.append(
        {"event": "finish", "trial": "0009", "status": "failed", "reason": "diverged | at 16 rows"}
    )
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    assert "diverged | at 16 rows" in (run.path / "report.html").read_text()
    assert "diverged \\| at 16 rows" in (run.path / "report.md").read_text()
