"""The same of both ways to write: into the database of the runs, and by MLflow's client."""

import multiprocessing
import shutil
from pathlib import Path
from typing import Any

import pytest

from bv_search.errors import RunError
from bv_search.run import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.run.tracking import connect
from tests.run.children import runs_of
from tests.run.conftest import encore, finish, segment

OWN, ELSEWHERE = "own", "elsewhere"


@pytest.fixture(autouse=True, params=[OWN, ELSEWHERE])
def migrated(
    request: pytest.FixtureRequest,
    run: Run,
    empty_mlflow: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A database, already migrated: MLflow takes seconds for that."""
    place = run.path.parent if request.param == OWN else tmp_path
    shutil.copy(empty_mlflow, place / "mlflow.db")
    if request.param == ELSEWHERE:
        monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{place / 'mlflow.db'}")
        monkeypatch.chdir(tmp_path)  # where MLflow leaves artifacts


own = pytest.mark.parametrize("migrated", [OWN], indirect=True)


@pytest.fixture
def mirrored(finished_run: Run) -> tuple[Run, MlflowMirror]:
    folder = finished_run.new_trial_folder("a")
    (folder / "config.json").write_text("{}")
    finished_run.write_leaderboard()
    mirror = MlflowMirror(finished_run)
    assert mirror.close(), mirror.trouble
    return finished_run, mirror


def test_a_study_is_a_parent_run_with_a_child_per_trial(mirrored: tuple[Run, MlflowMirror]) -> None:
    _, mirror = mirrored
    found = runs_of(mirror)
    assert set(found) == {"first", "a", "b", "c"}
    assert {found[name].data.tags["mlflow.parentRunId"] for name in "abc"} == {mirror.parent_id}
    assert [found[name].info.status for name in ("first", "a", "c")] == ["FINISHED", "FINISHED", "FAILED"]
    assert found["a"].data.params == {"head.size": "64", "lr": "0.001"}
    assert found["a"].data.metrics == {
        "select_score": 0.6,
        "select_loss": 0.5,
        "report_score": 0.5,
        "parameters": 40.0,
        "percent": 4.0,
        "rows": 64.0,
        "seconds": 2.0,
    }
    assert found["first"].data.metrics["encoder_score"] == 0.45
    assert found["first"].data.params["searcher"] == "random"


def test_rungs_of_the_ladder_have_a_tag(run: Run) -> None:
    for trial, rung in (("0001", {}), ("probe-4", {"rung": "probe"})):
        run.journal.append({"event": "suggest", "trial": trial, "config": {"lr": 0.1}, **rung})
        run.journal.append({"event": "finish", "trial": trial, "status": "done", "score": 0.5})
    mirror = MlflowMirror(run)
    assert mirror.close(), mirror.trouble
    found = runs_of(mirror)
    assert found["probe-4"].data.tags["bv.rung"] == "probe"
    assert "bv.rung" not in found["0001"].data.tags
    assert found["first"].data.metrics["trials"] == 1.0


def test_what_a_trial_became_is_a_child_of_its_own(run: Run) -> None:
    run.journal.append({"event": "suggest", "trial": "0001", "config": {"lr": 0.1}})
    run.journal.append(finish("0001", 0.5, 0.4), encore("0001"))
    mirror = MlflowMirror(run)
    assert mirror.close(), mirror.trouble
    found = runs_of(mirror)
    assert set(found) == {"first", "0001", "0001-bagged", "0001-single"}
    bagged = found["0001-bagged"]
    assert (bagged.data.tags["bv.of"], bagged.info.status) == ("0001", "FINISHED")
    assert (bagged.data.metrics["select_score"], bagged.data.metrics["report_score"]) == (0.5, 0.62)
    assert bagged.data.metrics["rows"] == 96
    assert found["first"].data.metrics["report_score"] == 0.62
    assert found["first"].data.metrics["trials"] == 1.0


@own
def test_heads_and_the_leaderboard_are_artifacts_beside_the_runs(mirrored: tuple[Run, MlflowMirror]) -> None:
    run, mirror = mirrored
    client = mirror.tracking.client
    assert {item.path for item in client.list_artifacts(mirror.parent_id)} == {
        "study.yaml",
        "leaderboard.csv",
    }
    child = mirror.child_id("a")
    assert [item.path for item in client.list_artifacts(child, "head")] == ["head/config.json"]
    assert list((run.path.parent / "mlartifacts").rglob("leaderboard.csv"))
    assert (run.path.parent / "mlflow.db").exists()
    (copy,) = (run.path.parent / "mlartifacts").rglob("config.json")
    assert copy.samefile(run.trial_folder("a") / "config.json"), "on the disk once"


def test_a_point_that_is_written_late_is_not_the_last(run: Run) -> None:
    """Of a metric MLflow shows the value at the last step."""
    run.journal.append({"event": "suggest", "trial": "a", "config": {"lr": 0.001}})
    run.journal.append(segment("a", 32, 0.2))
    assert MlflowMirror(run).sync()
    run.journal.append(segment("a", 16, 0.9))
    mirror = MlflowMirror(run)
    assert mirror.sync()
    assert runs_of(mirror)["a"].data.metrics["select_score"] == 0.2


def test_a_second_mirror_of_a_run_adds_nothing_twice(mirrored: tuple[Run, MlflowMirror]) -> None:
    run, first = mirrored
    again = MlflowMirror(Run.open(run.path))
    assert again.close(), again.trouble
    assert again.parent_id == first.parent_id
    assert len(runs_of(again)) == 4
    history = again.tracking.client.get_metric_history(again.child_id("a"), "select_score")
    assert [(point.step, point.value) for point in history] == [(32, 0.3), (64, 0.6)]


def test_children_of_a_parent_that_was_deleted_stand_under_the_next_one(
    mirrored: tuple[Run, MlflowMirror],
) -> None:
    run, mirror = mirrored
    mirror.tracking.client.delete_run(mirror.parent_id)
    again = MlflowMirror(run)
    assert again.parent_id != mirror.parent_id
    found = runs_of(again)
    assert {found[name].data.tags["mlflow.parentRunId"] for name in "abc"} == {again.parent_id}


def test_a_run_that_goes_on_is_running_again(mirrored: tuple[Run, MlflowMirror]) -> None:
    run, _ = mirrored
    run.journal.append({"event": "suggest", "trial": "d", "config": {"lr": 0.1}})
    with MlflowMirror(run).guarded() as mirror:
        assert mirror.sync()
        found = runs_of(mirror)
        assert (found["first"].info.status, found["d"].info.status) == ("RUNNING", "RUNNING")
        run.journal.append({"event": "finish", "trial": "d", "status": "failed", "reason": "diverged"})
        assert mirror.close("FINISHED")
    found = runs_of(mirror)
    assert (found["first"].info.status, found["d"].info.status) == ("FINISHED", "FAILED")


@pytest.mark.parametrize(("error", "status"), [(KeyboardInterrupt(), "KILLED"), (RunError("no"), "FAILED")])
def test_what_is_broken_off_does_not_stand_as_running(
    finished_run: Run, error: BaseException, status: str
) -> None:
    finished_run.journal.append({"event": "suggest", "trial": "d", "config": {"lr": 0.1}})
    mirror = MlflowMirror(finished_run)
    with pytest.raises(type(error)), mirror.guarded():
        raise error
    found = runs_of(mirror)
    assert found["a"].data.metrics["select_score"] == 0.6, "what was reached is there"
    assert {name: found[name].info.status for name in ("first", "a", "d")} == {
        "first": status,
        "a": "FINISHED",
        "d": "KILLED",
    }

    assert MlflowMirror(finished_run).close(), "as a report does"
    assert runs_of(mirror)["first"].info.status == status
    with MlflowMirror(finished_run).guarded():
        found = runs_of(mirror)
        assert (found["first"].info.status, found["d"].info.status) == ("RUNNING", "RUNNING")


def test_a_report_on_a_killed_search_says_that_it_was_killed(finished_run: Run) -> None:
    finished_run.journal.append({"event": "suggest", "trial": "d", "config": {"lr": 0.1}})
    assert MlflowMirror(finished_run).sync(), "and then the power was cut"
    mirror = MlflowMirror(finished_run)
    assert mirror.close()
    assert {name: runs_of(mirror)[name].info.status for name in ("first", "d")} == {
        "first": "KILLED",
        "d": "KILLED",
    }


def test_a_mirror_killed_between_two_writes_is_completed_by_the_next(run: Run) -> None:
    run.journal.append({"event": "suggest", "trial": "a", "config": {"lr": 0.001}})
    run.journal.append(segment("a", 16, 0.1))
    assert MlflowMirror(run).sync()
    run.journal.append(segment("a", 32, 0.2))
    mirror = MlflowMirror(run)
    assert mirror.sync()
    assert mirror.sync()
    history = mirror.tracking.client.get_metric_history(mirror.child_id("a"), "select_score")
    assert [(point.step, point.value) for point in history] == [(16, 0.1), (32, 0.2)]


@own
def test_runs_of_one_name_on_one_server_stay_apart(tmp_path: Path, make_study: Any) -> None:
    uri = f"sqlite:///{tmp_path / 'runs' / 'mlflow.db'}"
    one = MlflowMirror(Run.create(tmp_path / "one" / "same", make_study()), uri)
    two = MlflowMirror(Run.create(tmp_path / "two" / "same", make_study()), uri)
    assert one.parent_id != two.parent_id
    assert one.tracking.experiment == two.tracking.experiment


@own
def test_the_environment_names_the_server(
    tmp_path: Path, run: Run, empty_mlflow: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(empty_mlflow, tmp_path / "elsewhere.db")
    before = (run.path.parent / "mlflow.db").read_bytes()
    uri = f"sqlite:///{tmp_path / 'elsewhere.db'}"
    monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
    assert MlflowMirror(run).uri == uri
    assert (tmp_path / "elsewhere.db").read_bytes() != empty_mlflow.read_bytes()
    assert (run.path.parent / "mlflow.db").read_bytes() == before


@own
def test_a_server_that_is_not_there_is_one_line_at_once(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    with pytest.raises(RunError, match="MLflow cannot be reached") as caught:
        MlflowMirror(run, "http://127.0.0.1:9")
    assert "\n" not in str(caught.value)


def _connect(runs: Path) -> None:
    connect(runs, task="squad2-span")


@own
@pytest.mark.slow
def test_eight_processes_may_meet_at_a_new_database(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    others = [context.Process(target=_connect, args=(tmp_path,)) for _ in range(8)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert [other.exitcode for other in others] == [0] * 8
