"""A report that is written."""

import pytest

from bv_search.command import Progress
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.ensemble import run as decide
from bv_search.report.config import ReportConfig
from bv_search.report.report import run as write
from bv_search.run import Run

QUIET = Progress(quiet=True)


@pytest.fixture
def written(run: Run) -> tuple[Run, str, str]:
    """A run with its ensemble, and both forms of its report."""
    decide(EnsembleConfig(runs=(str(run.path),), mlflow=False), QUIET)
    write(ReportConfig(runs=(str(run.path),), mlflow=False), QUIET)
    return run, (run.path / "report.html").read_text(), (run.path / "report.md").read_text()
