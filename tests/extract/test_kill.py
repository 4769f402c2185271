"""The whole command, killed at random moments and started again."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from bv_search.store.store import Store
from bv_search.store.verify import find_damage

SETTLE_SECONDS = 120.0


class Extraction:
    """`bv-search extract` as a user runs it, into one place."""

    def __init__(
        self, place: Path, stage: Path, data: Path, *options: str, notes: Path | None = None
    ) -> None:
        self.place, notes = place, notes or place.parent
        self._out, self.err = notes / "out", notes / "err"
        self._command = [
            *(sys.executable, "-m", "bv_search.extract", "--task", "mrpc", "--encoder", str(stage)),
            *("--data", str(data), "--out", str(place), "--block-size", "1B", "--threads", "1"),
            *("--precision", "float32", "--json", "--quiet", *options),
        ]

    def start(self, workers: int) -> subprocess.Popen[str]:
        with self._out.open("w") as out, self.err.open("w") as err:
            return subprocess.Popen(
                [*self._command, "--workers", str(workers)], stdout=out, stderr=err, text=True
            )

    def finish(self, workers: int = 0) -> dict[str, object]:
        process = self.start(workers)
        process.wait(timeout=SETTLE_SECONDS)
        assert process.returncode == 0, self.err.read_text()
        said: dict[str, object] = json.loads(self._out.read_text().splitlines()[-1])
        return said

    def fail(self, workers: int) -> str:
        """What it says when it refuses."""
        process = self.start(workers)
        assert process.wait(timeout=SETTLE_SECONDS) == 2, self.err.read_text()
        return self.err.read_text()

    @property
    def done(self) -> int:
        """Blocks that need not be encoded again."""
        return len(list(self.place.glob(".extract/done/*/*.parquet")))

    @property
    def unrecorded(self) -> int:
        """Blocks that are in their place without being noted as done."""
        return len(list(self.place.glob("*/blocks/*.npy"))) - self.done

    def kill_when(self, workers: int, done: int, delay: float) -> None:
        """Start it, and kill it a moment after so many blocks are done; it may have ended before."""
        process = self.start(workers)
        deadline = time.monotonic() + SETTLE_SECONDS
        while process.poll() is None and self.done < done and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait(timeout=SETTLE_SECONDS)
        assert process.returncode in (-signal.SIGKILL, 0)


@pytest.fixture
def extraction(tmp_path: Path, stage: Path, pairs: Path) -> Extraction:
    return Extraction(tmp_path / "store", stage, pairs)


@pytest.fixture
def whole(config: Callable[..., ExtractConfig], tmp_path: Path) -> tuple[Store, dict[str, object]]:
    """What an unbroken run gives."""
    result = run(config(out=str(tmp_path / "whole")), Progress(quiet=True))
    return Store.open(result.store), result.to_json()


def absent_or_whole(place: Path) -> bool:
    return not (place / "manifest.json").exists() or not any(find_damage(Store.open(place)))


def check(extraction: Extraction, whole: tuple[Store, dict[str, object]], workers: int) -> None:
    """After a kill: nothing half done is visible, and going on redoes what was not done, and no more."""
    store, unbroken = whole
    assert absent_or_whole(extraction.place)
    assert extraction.unrecorded <= max(workers, 1) or (extraction.place / "manifest.json").exists()
    done = extraction.done
    finished = (extraction.place / "manifest.json").exists()
    said = extraction.finish()
    assert said["encoded_blocks"] <= (0 if finished else unbroken["blocks"] - done)  # type: ignore[operator]
    again = Store.open(extraction.place)
    assert again.digest == store.digest
    assert not any(find_damage(again))
    for entry in store.manifest.files():
        assert again.folder.read(entry.file) == store.folder.read(entry.file)
    assert said["metrics"] == unbroken["metrics"]


def test_two_kills_in_this_process(extraction: Extraction, whole: tuple[Store, dict[str, object]]) -> None:
    rng = random.Random(os.getpid())
    extraction.kill_when(0, done=rng.randint(0, 3), delay=rng.random() * 0.02)
    extraction.kill_when(0, done=rng.randint(4, 7), delay=rng.random() * 0.02)
    check(extraction, whole, workers=0)


def test_a_kill_of_the_driver_of_two_workers(
    extraction: Extraction, whole: tuple[Store, dict[str, object]]
) -> None:
    rng = random.Random(os.getpid())
    extraction.kill_when(2, done=rng.randint(1, 7), delay=rng.random() * 0.05)
    check(extraction, whole, workers=2)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(200))
def test_two_hundred_kills(
    extraction: Extraction, whole: tuple[Store, dict[str, object]], number: int
) -> None:
    rng = random.Random(number)
    workers = 2 if number % 10 == 0 else 0
    extraction.kill_when(workers, done=rng.randint(0, 8), delay=rng.random() * 0.1)
    check(extraction, whole, workers)
