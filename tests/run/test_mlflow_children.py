"""Trials are written by MLflow's client, and none of them twice."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from bv_search.run import Run, mlflow, mlflow_children
from bv_search.run.mlflow import MlflowMirror
from tests.run.children import runs_of
from tests.run.conftest import segment


@pytest.fixture(autouse=True)
def migrated(empty_mlflow: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database elsewhere, already migrated: MLflow takes seconds for that."""
    shutil.copy(empty_mlflow, tmp_path / "mlflow.db")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path / 'mlflow.db'}")
    monkeypatch.chdir(tmp_path)  # where MLflow leaves artifacts


def test_an_mlflow_that_goes_while_a_child_is_made_has_no_second_one_when_it_is_back(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.journal.append({"event": "suggest", "trial": "a", "config": {"lr": 0.001}})
    run.journal.append({"event": "suggest", "trial": "b", "config": {"lr": 0.002}})
    mirror = MlflowMirror(run)
    client, create = mirror.tracking.client, mirror.tracking.client.create_run

    def create_and_go(*args: Any, **more: Any) -> Any:
        create(*args, **more)
        raise ConnectionError

    def go(*args: Any, **more: Any) -> Any:
        raise ConnectionError

    for name, fails in (("log_batch", go), ("create_run", create_and_go)):  # of a, then of b
        with monkeypatch.context() as away:
            away.setattr(client, name, fails)
            assert not mirror.sync(patience=10.0)
    assert mirror.sync(patience=10.0), mirror.trouble
    found = client.search_runs([mirror.tracking.experiment])
    assert sorted(each.info.run_name for each in found) == ["a", "b", "first"]
    assert {
        each.info.run_name: each.data.params.get("lr") for each in found if each.info.run_name != "first"
    } == {
        "a": "0.001",
        "b": "0.002",
    }


def test_a_child_that_was_deleted_is_made_anew(run: Run) -> None:
    for trial in ("a", "b"):
        run.journal.append({"event": "suggest", "trial": trial, "config": {"lr": 0.001}})
        run.journal.append(segment(trial, 16, 0.1))
    mirror = MlflowMirror(run)
    assert mirror.sync()
    kept = mirror.child_id("b")
    mirror.tracking.client.delete_run(mirror.child_id("a"))
    run.journal.append(segment("a", 32, 0.2), segment("b", 32, 0.2))
    assert not mirror.sync()
    assert mirror.sync(patience=10.0), mirror.trouble
    assert mirror.child_id("b") == kept
    found = runs_of(mirror)
    assert {found[trial].data.metrics["select_score"] for trial in "ab"} == {0.2}
    assert found["a"].data.params == {"lr": "0.001"}


def test_a_mirror_killed_before_parameters_are_written_is_completed_by_the_next(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as killed:
        killed.setattr(mlflow_children, "log", lambda *args, **more: None)
        killed.setattr(mlflow, "log", lambda *args, **more: None)
        run.journal.append({"event": "suggest", "trial": "a", "config": {"lr": 0.001}})
        assert MlflowMirror(run).sync()
    mirror = MlflowMirror(run)
    assert mirror.sync()
    found = runs_of(mirror)
    assert found["a"].data.params == {"lr": "0.001"}
    assert found["first"].data.params
