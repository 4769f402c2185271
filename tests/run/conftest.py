"""A study and a run on disk, without a store: the run folder does not need one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bv_search.run import Run, Study
from tests.run.database import migrated

StudyMaker = Callable[..., Study]


@pytest.fixture
def make_study() -> StudyMaker:
    def make(**changes: Any) -> Study:
        values: dict[str, Any] = {
            "name": "first",
            "space": {
                "head": {"choice": [{"kind": "pooling"}, {"kind": "adapter", "size": {"choice": [16, 64]}}]}
            },
            "store": "stores/demo",
            "store_digest": "xxh3:00",
            "task": {"name": "squad2-span"},
            "searcher": "random",
            "scheduler": "none",
            "trials": 4,
            "seed": 0,
            "pack": "auto",
            "generation": None,
            "data_fraction": 1.0,
            "encoder_parameters": 1000,
            "baseline": {
                "select": {"f1": 0.4},
                "report": {"f1": 0.45},
                "select_score": 0.4,
                "report_score": 0.45,
            },
        }
        return Study(**{**values, **changes})

    return make


@pytest.fixture
def run(tmp_path: Path, make_study: StudyMaker) -> Run:
    return Run.create(tmp_path / "runs" / "first", make_study())


def segment(trial: str, rows: int, score: float | None, **more: Any) -> dict[str, Any]:
    """Of a head of so many whole passes over 16 rows; without a score it was not asked for."""
    check = {"position": rows // 16, "rows": rows, "score": score, "loss": 0.5}
    return {
        "event": "segment",
        "trial": trial,
        "position": rows // 16,
        "rows": rows,
        "found": None if score is None else check,
        "checks": [],
        "has_learned": False,
        "seconds": 1.0,
        "state": "xxh3:00",
        **more,
    }


def finish(trial: str, score: float, report: float, parameters: int = 10, **more: Any) -> dict[str, Any]:
    return {
        "event": "finish",
        "trial": trial,
        "status": "done",
        "score": score,
        "loss": 0.5,
        "parameters": parameters,
        "report": {"score": report, "interval": [report - 0.1, report + 0.1], "metrics": {"f1": report}},
        **more,
    }


def encore(of: str) -> dict[str, Any]:
    """A head that learned once more, three copies of it."""

    def told(report: float, parameters: int) -> dict[str, Any]:
        figures = {"score": report, "interval": [report - 0.1, report + 0.1], "metrics": {"f1": report}}
        return {"status": "done", "parameters": parameters, "report": figures}

    return {
        "event": "encore",
        "of": of,
        "rows": 96,
        "seconds": 2.0,
        "bagged": told(0.62, 30),
        "single": told(0.61, 10),
    }


@pytest.fixture
def finished_run(run: Run) -> Run:
    """Three trials: one good, one small, one failed."""
    for trial, config in (("a", {"size": 64}), ("b", {"size": 16}), ("c", {"size": 16})):
        run.journal.append({"event": "suggest", "trial": trial, "config": {"head": config, "lr": 0.001}})
    for trial, rows, score in (("a", 32, 0.3), ("b", 32, 0.35), ("a", 64, 0.6), ("b", 64, 0.595)):
        run.journal.append(segment(trial, rows, score))
    run.journal.append(
        finish("a", 0.6, 0.5, parameters=40),
        finish("b", 0.595, 0.55, parameters=10),
        {
            "event": "finish",
            "trial": "c",
            "status": "failed",
            "reason": "loss is not a number after 16 rows",
        },
        {"event": "end", "seconds": {"search": 3.0, "start": 1.0}},
    )
    return run


@pytest.fixture(scope="session")
def empty_mlflow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return migrated(tmp_path_factory.getbasetemp())
