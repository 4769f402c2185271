"""Processes that a search stands on die: it goes on, or says so in one line and can be gone on with."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bv_search.command import Progress
from bv_search.run.folder import Run
from bv_search.run.mlflow import MlflowMirror
from bv_search.store.store import Store
from bv_search.tune.config import TuneConfig
from bv_search.tune.search import run as search
from tests.hunter import processes_below
from tests.run.servers import mlflow_server
from tests.tune.conftest import ended_alike

RAYLET, GCS = "/raylet/raylet\0", "/gcs/gcs_server\0"
SCAN = "ray::ScanWorker"
SPACE = """
space:
  head: {kind: adapter, size: 4}
  learning_rate: {uniform: [0.001, 0.01]}
  passes: {choice: [100, 200]}
"""
OPTIONS = "--trials 6 --pack 2 --searcher random --folds 1 --finalists 0"
NOTICED_SECONDS = 40.0  # after a death; a look, the work's patience, and what Ray takes to go
WHOLE_SECONDS = 240.0
QUIET = Progress(quiet=True)


@dataclass
class Going:
    """A search in a process of its own."""

    name: str
    runs: Path
    process: subprocess.Popen[str]
    lines: list[float] = field(default_factory=list)  # when each of the journal's came

    @classmethod
    def begin(cls, name: str, store: Store, place: Path, *more: str, **environment: str) -> "Going":
        (place / "long.yaml").write_text(SPACE)
        words = ["--space", str(place / "long.yaml"), "--store", store.path, *OPTIONS.split()]
        words += ["--name", name, "--runs", str(place / "runs"), *more]
        process = subprocess.Popen(
            [sys.executable, "-m", "bv_search.tune", *words],
            start_new_session=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        return cls(name, place / "runs", process)

    @property
    def path(self) -> Path:
        return self.runs / self.name

    def look(self) -> None:
        journal = self.path / "journal.jsonl"
        count = journal.read_bytes().count(b"\n") if journal.exists() else 0
        self.lines += [time.monotonic()] * (count - len(self.lines))

    def until(self, condition: Callable[[], object], seconds: float = WHOLE_SECONDS) -> None:
        end = time.monotonic() + seconds
        while self.process.poll() is None and not condition():
            assert time.monotonic() < end, "it did not come to pass"
            self.look()
            time.sleep(0.01)

    def kill(self, part: str, after: int) -> float:
        """One of its processes, once the journal has so many lines."""
        self.until(lambda: len(self.lines) >= after)
        found: list[int] = []

        def is_found() -> bool:
            found[:] = processes_below(self.process.pid, part)
            return bool(found)

        self.until(is_found)
        assert found, "it has ended before"
        os.kill(found[0], signal.SIGKILL)
        return time.monotonic()

    def hold(self, after: int) -> None:
        """It stands still, once the journal has so many lines, until it is told to go on."""
        self.until(lambda: len(self.lines) >= after)
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.process.pid, signal.SIGCONT)

    def end(self, seconds: float = WHOLE_SECONDS) -> tuple[int, str]:
        """Its exit status, and what it said; nothing of it is left."""
        try:
            self.until(lambda: False, seconds)
            said = self.process.communicate()[1]
        finally:
            left = self._is_left()
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
        assert not left, "processes outlive the search"
        return self.process.returncode, said

    def _is_left(self) -> bool:
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, 0)
                time.sleep(0.1)
                continue
            return False
        return True

    def longest_pause(self, since: float) -> float:
        moments = [since, *(moment for moment in self.lines if moment > since)]
        return max((later - earlier for earlier, later in pairwise(moments)), default=0.0)

    def resume(self) -> Run:
        return search(TuneConfig(name=self.name, resume=True, runs=self.runs), QUIET)


@pytest.fixture
def whole(class_store: Store, tmp_path: Path, ray_cluster: None) -> Run:
    (tmp_path / "long.yaml").write_text(SPACE)
    asked: dict[str, Any] = {"trials": 6, "pack": "2", "searcher": "random", "folds": 1, "finalists": 0}
    config = TuneConfig(
        space=str(tmp_path / "long.yaml"), store=class_store.path, name="whole", runs=tmp_path / "w", **asked
    )
    return search(config, QUIET)


def prove_ray_is_missed(part: str, after: int, store: Store, place: Path) -> Going:
    """Within seconds, and in one line."""
    going = Going.begin("it", store, place, "--quiet")
    died = going.kill(part, after)
    status, said = going.end(NOTICED_SECONDS)
    assert time.monotonic() - died < NOTICED_SECONDS
    assert (status, len(said.splitlines())) == (1, 1), said
    assert "Ray has died" in said
    assert len(said) <= 500
    return going


def test_a_raylet_that_dies_is_missed(class_store: Store, tmp_path: Path) -> None:
    prove_ray_is_missed(RAYLET, 2, class_store, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "after"),
    [
        pytest.param(part, after, id=f"{name} {after}")
        for name, part, lines in (("raylet", RAYLET, (1, 12, 20)), ("gcs", GCS, (2, 14)))
        for after in lines
    ],
)
def test_whenever_ray_dies_the_search_ends_as_it_would_have(
    part: str, after: int, class_store: Store, tmp_path: Path, whole: Run
) -> None:
    going = prove_ray_is_missed(part, after, class_store, tmp_path)
    if after == 1:  # of a run without a trial nothing is left, and its name is free
        assert not going.path.exists()
    else:
        ended_alike(going.resume(), whole)


@pytest.mark.slow
def test_whichever_worker_dies_the_search_ends_as_it_would_have(
    class_store: Store, tmp_path: Path, whole: Run
) -> None:
    going = Going.begin("it", class_store, tmp_path, "--quiet")
    died = going.kill(SCAN, after=9)
    assert going.end() == (0, "")
    assert going.longest_pause(died) < NOTICED_SECONDS
    ended_alike(Run.open(going.path), whole)


def copies(mirror: MlflowMirror) -> list[tuple[str, str, bool]]:
    """Each run of MLflow: its name, whether it has ended and how, and whether it has parameters."""
    found = mirror.tracking.client.search_runs([mirror.tracking.experiment])
    return sorted((each.info.run_name, each.info.status, bool(each.data.params)) for each in found)


def copies_of(run: Run, name: str) -> list[tuple[str, str, bool]]:
    return sorted((each, "FINISHED", True) for each in (name, *(record.id for record in run.trials())))


@pytest.mark.slow
@pytest.mark.parametrize(("after", "returns"), [(4, False), (4, True), (20, False)])
def test_an_mlflow_that_dies_costs_a_search_nothing_but_its_mirror(
    returns: bool, after: int, class_store: Store, tmp_path: Path, whole: Run
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    uri = f"http://127.0.0.1:{port}"
    with mlflow_server(tmp_path, port) as kill:
        going = Going.begin("it", class_store, tmp_path, MLFLOW_TRACKING_URI=uri)
        going.until(lambda: len(going.lines) >= after)
        kill()
        died = time.monotonic()
        if returns:
            going.hold(after + 16)  # a server takes longer to start than this search to end
        else:
            status, said = going.end()
            assert "not all is in MLflow, until the next command on this run: http://127" in said
    with mlflow_server(tmp_path, port):
        if returns:
            going.go_on()
            status, said = going.end()
            assert "not all is in MLflow" not in said, said
            assert copies(MlflowMirror(Run.open(going.path), uri)) == copies_of(whole, "it")
        assert (status, "Traceback" in said) == (0, False), said
        assert going.longest_pause(died) < NOTICED_SECONDS
        ended_alike(Run.open(going.path), whole)
        mirror = MlflowMirror(Run.open(going.path), uri)
        assert mirror.close(), mirror.trouble
        assert copies(mirror) == copies_of(whole, "it")
