"""Trials are written into MLflow's own tables, all of them or none."""

import shutil
from pathlib import Path

import pytest
from mlflow.tracking._tracking_service import utils

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


def test_runs_that_were_moved_are_mirrored_where_they_are(finished_run: Run, tmp_path: Path) -> None:
    mirror = MlflowMirror(finished_run)
    assert mirror.close(), mirror.trouble
    moved = finished_run.path.parent.rename(tmp_path / "moved")
    utils._artifact_repos_cache.clear()  # another process has none
    again = MlflowMirror(Run.open(moved / finished_run.path.name))
    assert again.close(), again.trouble
    places = {run.info.artifact_uri for run in runs_of(again).values()}
    assert len(places) == 4
    assert all(place.startswith((moved / "mlartifacts").as_uri()) for place in places)
    assert not finished_run.path.parent.exists()


def test_runs_that_were_deleted_are_there_again(finished_run: Run) -> None:
    mirror = MlflowMirror(finished_run)
    assert mirror.close(), mirror.trouble
    for run in runs_of(mirror).values():
        mirror.tracking.client.delete_run(run.info.run_id)
    again = MlflowMirror(finished_run)
    assert again.close(), again.trouble
    assert set(runs_of(again)) == {"first", "a", "b", "c"}


def test_where_files_cannot_be_linked_they_are_copied_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "head").mkdir()
    (tmp_path / "head" / "weights").write_bytes(b"1" * 100)

    def refuse(*_: object) -> None:
        raise PermissionError("no links here")

    def tear(source: Path, target: Path) -> None:
        Path(target).write_bytes(b"1" * 50)
        raise KeyboardInterrupt

    monkeypatch.setattr("os.link", refuse)
    with monkeypatch.context() as torn:
        torn.setattr("shutil.copyfile", tear)
        with pytest.raises(KeyboardInterrupt):
            mlflow_database.link_files(tmp_path / "head", tmp_path / "there")
    assert not (tmp_path / "there" / "weights").exists()
    mlflow_database.link_files(tmp_path / "head", tmp_path / "there")
    assert (tmp_path / "there" / "weights").read_bytes() == b"1" * 100
