"""Writing a store: whole or absent, whatever fails."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bv_search.errors import BvError, OutputError, StoreError
from bv_search.store.layout import WRITING_BYTES
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.buckets import local_bucket
from tests.failing_disk import FailingDisk
from tests.store.small import make_split, make_store


@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_a_failure_at_any_write_fsync_or_rename_leaves_no_half_store(tmp_path: Path, fmt: str) -> None:
    split = {"train": make_split(5), "dev": make_split(2, role="report")}
    counting = FailingDisk()
    expected = make_store(tmp_path / "whole", split, format=fmt, disk=counting)
    assert counting.calls > 15
    survived = 0
    for at in range(counting.calls):
        place = tmp_path / str(at)
        with pytest.raises(OutputError, match="No space left on device"):
            make_store(place, split, format=fmt, disk=FailingDisk(at))
        assert not list(place.rglob("*.part"))
        if (place / "manifest.json").exists():
            survived += 1
            assert Store.open(place).digest == expected.digest
            assert not any(find_damage(Store.open(place)))
            continue
        with pytest.raises(StoreError, match="is not a store"):
            Store.open(place)
        assert make_store(place, split, format=fmt).digest == expected.digest
        assert not any(find_damage(Store.open(place)))
    assert survived == 1  # only the fsync of the folder comes after the manifest


def test_an_overflow_is_refused_with_layer_and_block_and_commits_nothing(tmp_path: Path) -> None:
    split = make_split(40)
    split.hidden[20][1, 0, 0] = 1e6
    with pytest.raises(StoreError, match=r"train/blocks/00001.npy.*'layer 1' does not fit float16"):
        make_store(tmp_path / "store", {"train": split})
    assert not (tmp_path / "store/manifest.json").exists()
    assert not (tmp_path / "store/train/blocks/00001.npy").exists()
    make_store(tmp_path / "store", {"train": split}, dtype="bfloat16")


def test_a_value_that_is_no_number_is_refused(tmp_path: Path) -> None:
    split = make_split(16)
    split.hidden[3][0, 1, 2] = np.nan
    with pytest.raises(BvError, match="'embeddings' does not fit bfloat16"):
        make_store(tmp_path / "store", {"train": split}, dtype="bfloat16")


def test_a_second_store_in_the_same_place_is_refused(store: Store) -> None:
    with pytest.raises(OutputError, match="already holds a store"):
        make_store(store.path)
    assert not any(find_damage(Store.open(store.path)))


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with local_bucket() as address:
        yield address


@pytest.mark.parametrize("fmt", ["npy", "parquet"])
@pytest.mark.parametrize("remote", [False, True], ids=["local", "bucket"])
def test_a_block_is_held_once(request: pytest.FixtureRequest, tmp_path: Path, fmt: str, remote: bool) -> None:
    place = f"{request.getfixturevalue('bucket')}/{fmt}" if remote else str(tmp_path)
    command = [sys.executable, "-m", "tests.store.one_block", place, fmt]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["block"] == 96 << 20
    assert said["taken"] < said["block"] + WRITING_BYTES
