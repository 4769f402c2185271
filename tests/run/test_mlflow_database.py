"""Trials are written into MLflow's own tables, all of them or none."""

import shutil
from pathlib import Path

import pytest

from bv_search.run import Run, mlflow_database
from bv_search.run.mlflow import MlflowMirror
from tests.run.children import runs_of


@pytest.fixture(autouse=True)
def migrated(run: Run, empty_mlflow: Path) -> None:
    """A database of the runs' own, already migrated: MLflow takes seconds for that."""
    shutil.copy(empty_mlflow, run.path.parent / "mlflow.db")


def test_of_trials_that_cannot_be_written_nothing_is_there(
    finished_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror = MlflowMirror(finished_run)
    with monkeypatch.context() as broken:
        broken.setattr(mlflow_database, "ENDED", "UPDATE nothing SET status = ?, end_time = ? WHERE id = ?")
        assert not mirror.sync()
    assert list(runs_of(mirror)) == ["first"]
    assert mirror.sync(patience=10.0), mirror.trouble
    assert set(runs_of(mirror)) == {"first", "a", "b", "c"}


def test_another_version_of_mlflows_tables_is_left_to_its_client(
    finished_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as newer:
        newer.setattr(mlflow_database, "SCHEMA", "0")
        newer.setattr(mlflow_database, "RUN", "")
        mirror = MlflowMirror(finished_run)
        assert mirror.close(), mirror.trouble
    assert set(runs_of(mirror)) == {"first", "a", "b", "c"}
    again = MlflowMirror(finished_run)
    assert again.close(), again.trouble
    assert len(runs_of(again)) == 4


def test_this_version_of_mlflow_has_the_tables_that_are_known(run: Run) -> None:
    assert mlflow_database.has_known_tables(run.path.parent / "mlflow.db")
