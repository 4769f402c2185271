"""Extraction straight into object storage."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.errors import OutputError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import run
from bv_search.extract.lock import hold
from bv_search.holder import Card
from bv_search.store.folder import open_folder
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.buckets import local_bucket
from tests.extract.conftest import Extract


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with local_bucket() as address:
        yield address


def test_a_bucket_gets_the_bytes_of_a_folder(bucket: str, extract: Extract, tmp_path: Path) -> None:
    local = extract(out=str(tmp_path / "local"))
    remote = extract(out=f"{bucket}/store")
    assert remote.manifest == local.manifest
    store = Store.open(f"{bucket}/store")
    assert not any(find_damage(store))
    listed = {entry.file for entry in local.manifest.files()} | {"manifest.json"}
    assert set(store.folder.names()) == listed
    assert extract(out=f"{bucket}/store").encoded_blocks == 0


def test_two_workers_write_the_same_bytes_into_a_bucket(
    bucket: str, extract: Extract, config: Callable[..., ExtractConfig], tmp_path: Path
) -> None:
    local = extract(out=str(tmp_path / "local"))
    with ray_session():  # begun here, so that workers know the bucket's address
        remote = run(config(out=f"{bucket}/workers", workers=2), Progress(quiet=True))
    assert remote.manifest == local.manifest
    assert remote.encoded_blocks == local.blocks
    assert not any(find_damage(Store.open(f"{bucket}/workers")))


def test_a_damaged_object_is_repaired(bucket: str, extract: Extract) -> None:
    whole = extract(out=f"{bucket}/repaired")
    folder = open_folder(f"{bucket}/repaired")
    folder.write("train/blocks/00001.npy", b"torn")
    folder.delete("dev/blocks/00000.npy")
    repaired = extract(out=f"{bucket}/repaired", repair=True)
    assert (repaired.encoded_blocks, repaired.manifest) == (2, whole.manifest)
    assert not any(find_damage(Store.open(f"{bucket}/repaired")))


def test_a_second_extraction_is_told_who_holds_the_bucket(bucket: str, extract: Extract) -> None:
    folder = open_folder(f"{bucket}/held")
    with hold(folder), pytest.raises(OutputError, match=r"another extraction is writing here; found process"):
        extract(out=f"{bucket}/held")
    assert folder.names() == []


def test_what_a_dead_holder_left_is_taken_over(bucket: str, extract: Extract) -> None:
    open_folder(f"{bucket}/dead").write(".extract.lock", Card(process=2**22 + 1).to_bytes())
    extract(out=f"{bucket}/dead")
    assert not open_folder(f"{bucket}/dead").exists(".extract.lock")
