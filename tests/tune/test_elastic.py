"""A search on machines that come late and are lost ends as one on a single machine, to the bit."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from bv_search.run.folder import JOURNAL, Run
from bv_search.store.store import Store
from tests.autoscaling import elastic_cluster
from tests.tune.conftest import ended_alike

SPACE = """
space:
  head: {kind: adapter, size: {choice: [4, 8]}}
  learning_rate: {uniform: [0.001, 0.01]}
  passes: {choice: [100, 200]}
"""
OPTIONS = "--trials 6 --pack 2 --generation 6 --searcher random --folds 1 --finalists 0 --precision float32"
NODE = {"CPU": 1.0, "object_store_memory": 80_000_000.0}
SECONDS = 240.0


def begin(name: str, store: Store, place: Path, **environment: str) -> subprocess.Popen[str]:
    (place / "space.yaml").write_text(SPACE)
    words = ["--space", str(place / "space.yaml"), "--store", store.path, *OPTIONS.split()]
    words += ["--workers", "2", "--name", name, "--runs", str(place / "runs")]
    return subprocess.Popen(
        [sys.executable, "-m", "bv_search.tune", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def end(search: subprocess.Popen[str]) -> str:
    _, said = search.communicate(timeout=SECONDS)
    assert search.returncode == 0, said
    return said


def await_lines(journal: Path, search: subprocess.Popen[str], wanted: Callable[[str], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not (journal.exists() and wanted(journal.read_text())):
        assert search.poll() is None, "it ended before"
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_segments(count: int, text: str) -> bool:
    return text.count('"event":"segment"') >= count


def test_machines_that_come_late_and_are_lost_change_nothing(class_store: Store, tmp_path: Path) -> None:
    """Its head has no room for workers; both nodes come when they are asked for, one of them is killed."""
    end(begin("alone", class_store, tmp_path))
    with elastic_cluster(most=2, node=NODE) as cluster:
        search = begin("elastic", class_store, tmp_path, **cluster.environment)
        journal = tmp_path / "runs/elastic" / JOURNAL
        await_lines(journal, search, lambda text: '"event":"round"' in text)
        cluster.nodes()[0].kill()
        said = end(search)
        cluster.await_nodes(0)

    assert "asking for 2 scan worker(s) of 1 CPU; the cluster has 1 × 0 CPU and may add 2 × 1 CPU" in said
    assert "its scan worker's machine is gone" in said or "2 of 2 scan workers" in said
    ended_alike(Run.open(tmp_path / "runs/alone"), Run.open(tmp_path / "runs/elastic"))


@pytest.mark.slow
def test_machines_that_are_lost_again_and_again_fail_no_head(class_store: Store, tmp_path: Path) -> None:
    """A node is killed whenever a segment has come back: more often than any head may cost processes."""
    end(begin("alone", class_store, tmp_path))
    with elastic_cluster(most=2, node=NODE) as cluster:
        search = begin("elastic", class_store, tmp_path, **cluster.environment)
        journal = tmp_path / "runs/elastic" / JOURNAL
        for killed in range(1, 4):
            await_lines(journal, search, partial(has_segments, 2 * killed))
            while not (there := cluster.nodes()):
                time.sleep(0.1)
            there[-1].kill()
        end(search)

    run = Run.open(tmp_path / "runs/elastic")
    assert [record.status for record in run.trials() if record.status == "failed"] == []
    ended_alike(Run.open(tmp_path / "runs/alone"), run)
