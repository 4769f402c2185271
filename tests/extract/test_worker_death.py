"""A worker that dies: another takes its place, and one that always dies stops the extraction."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.errors import BvError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.extract.conftest import write_pairs
from tests.extract.deadly_disk import DeadlyDisk
from tests.extract.test_kill import SETTLE_SECONDS, Extraction

WORKER = "ray::MapWorker"


@pytest.fixture
def many(tmp_path: Path) -> Path:
    """Enough rows that a worker can be met at work."""
    (tmp_path / "many").mkdir()
    write_pairs(tmp_path / "many", train_rows=1600)
    return tmp_path / "many"


def workers_of(driver: int) -> list[int]:
    """The processes below this one that encode."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            pid, rest = status.read_text().split(" (", 1)
        except OSError:  # it has ended meanwhile
            continue
        parents[int(pid)] = int(rest.rsplit(") ", 1)[1].split()[1])
    return [pid for pid in parents if driver in ancestors(pid, parents) and title(pid).startswith(WORKER)]


def ancestors(pid: int, parents: dict[int, int]) -> list[int]:
    found = []
    while pid in parents:
        pid = parents[pid]
        found.append(pid)
    return found


def title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_another_takes_the_place_of_a_dead_worker(
    config: Callable[..., ExtractConfig], many: Path, tmp_path: Path, stage: Path
) -> None:
    whole = run(config(data=str(many), out=str(tmp_path / "whole")), Progress(quiet=True))
    extraction = Extraction(tmp_path / "store", stage, many)
    process = extraction.start(workers=2)
    deadline = time.monotonic() + SETTLE_SECONDS
    while extraction.done < 5 and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.001)
    victim, _ = workers_of(process.pid)
    os.kill(victim, signal.SIGKILL)
    before = {path: path.stat().st_ino for path in extraction.place.glob("*/blocks/*.npy")}
    assert process.wait(timeout=SETTLE_SECONDS) == 0, extraction.err.read_text()
    assert len(before) < whole.blocks, "it was killed at work"
    assert sum(path.stat().st_ino != number for path, number in before.items()) <= 1
    store = Store.open(extraction.place)
    assert store.digest == Store.open(tmp_path / "whole").digest
    assert not any(find_damage(store))
    assert not list(extraction.place.rglob("*.part"))


@pytest.mark.slow
def test_workers_that_always_die_end_the_extraction(config: Callable[..., ExtractConfig]) -> None:
    with ray_session(), pytest.raises(BvError, match="the processes that encode this block keep dying"):
        run(config(workers=2), Progress(quiet=True), disk=DeadlyDisk())
