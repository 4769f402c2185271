"""A disk that is really full."""

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.errors import StoreError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.extract.test_kill import Extraction


class Disk:
    """A file system in memory, of a given size."""

    def __init__(self, place: Path) -> None:
        self.place = place
        place.mkdir()

    def mount(self, *options: str) -> None:
        command = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(self.place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"file systems cannot be mounted here: {done.stderr.strip()}")

    def grow(self, size: str) -> None:
        self.mount("remount", f"size={size}")

    def unmount(self) -> None:
        subprocess.run(["umount", str(self.place)], capture_output=True, check=False)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    disk = Disk(tmp_path / "disk")
    disk.mount("size=128k")
    yield disk
    disk.unmount()


BEFORE_A_PLAN, AT_A_BLOCK = "128k", "1m"  # where a disk of this size is full
ROOMS = {0: (BEFORE_A_PLAN, AT_A_BLOCK), 2: (AT_A_BLOCK,)}  # workers take long to start


@pytest.mark.parametrize(
    ("fmt", "workers"), [("npy", 0), ("parquet", 0), pytest.param("npy", 2, marks=pytest.mark.slow)]
)
def test_a_full_disk_is_one_clear_line_and_more_room_is_all_it_takes(
    disk: Disk,
    config: Callable[..., ExtractConfig],
    stage: Path,
    pairs: Path,
    tmp_path: Path,
    fmt: str,
    workers: int,
) -> None:
    whole = run(config(out=str(tmp_path / "whole"), tokens="all", format=fmt), Progress(quiet=True))
    options = ("--tokens", "all", "--format", fmt)
    extraction = Extraction(disk.place / "store", stage, pairs, *options, notes=tmp_path)
    assert whole.bytes > 1 << 20
    for room in ROOMS[workers]:
        disk.grow(room)
        said = extraction.fail(workers)
        assert said.count("\n") == 1
        assert "cannot be written; found No space left on device; free space or choose" in said
        with pytest.raises(StoreError, match="is not a store"):
            Store.open(extraction.place)
    done = extraction.done
    assert done > 0
    disk.grow("64m")
    resumed = extraction.finish()
    assert 0 < resumed["encoded_blocks"] <= whole.blocks - done  # type: ignore[operator]
    assert Store.open(extraction.place).manifest == whole.manifest
    assert not any(find_damage(Store.open(extraction.place)))
