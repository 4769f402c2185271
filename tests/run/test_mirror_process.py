"""MLflow is brought up to date by a process of its own, which may be killed and ends with the search."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bv_search.run import Run
from bv_search.run import mirror_process as module
from bv_search.run.mlflow import MlflowMirror
from tests.run.conftest import segment

PARENT = """
import sys, time
from pathlib import Path
from bv_search.run.mirror_process import MirrorProcess
print(MirrorProcess(Path(sys.argv[1]))._process.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(autouse=True)
def prepared(run: Run, empty_mlflow: Path) -> None:
    shutil.copy(empty_mlflow, run.path.parent / "mlflow.db")


def wait_until(is_so: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it takes too long"
        time.sleep(0.1)


def children(mirror: MlflowMirror) -> dict[str, Any]:
    found = mirror.tracking.client.search_runs([mirror.tracking.experiment])
    return {run.info.run_name: run for run in found if run.info.run_id != mirror.parent_id}


def test_what_one_process_began_the_other_ends(run: Run) -> None:
    for trial in ("a", "b"):
        run.journal.append({"event": "suggest", "trial": trial, "config": {"lr": 0.1}})
        run.journal.append(segment(trial, 16, 0.1))
    with MlflowMirror(run).guarded() as mirror:
        mirror.hand_over()
        assert mirror.sync(), "it is somebody else's work"
        wait_until(lambda: len(children(mirror)) == 2)
        run.journal.append(segment("a", 32, 0.2))
        run.journal.append({"event": "finish", "trial": "a", "status": "failed", "reason": "diverged"})
        assert mirror.close("FINISHED"), mirror.trouble
    found = children(mirror)
    assert {name: each.info.status for name, each in found.items()} == {"a": "FAILED", "b": "KILLED"}
    history = mirror.tracking.client.get_metric_history(found["a"].info.run_id, "select_score")
    assert [(point.step, point.value) for point in history] == [(16, 0.1), (32, 0.2)]


def test_where_it_dies_nothing_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.MirrorProcess, "stop", lambda self: self._process.wait())
    run.journal.append({"event": "suggest", "trial": "a", "config": {"lr": 0.1}})
    with MlflowMirror(run).guarded() as mirror:
        mirror.hand_over()
        assert mirror._process is not None
        mirror._process._process.kill()
        assert mirror.close("FINISHED"), mirror.trouble
    assert list(children(mirror)) == ["a"]


def is_there(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.slow
def test_it_ends_with_the_search(run: Run) -> None:
    command = [sys.executable, "-c", PARENT, str(run.path)]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    mirror = int(parent.stdout.readline())
    assert is_there(mirror)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not is_there(mirror))
