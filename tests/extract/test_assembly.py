"""Mean and deviation of the training rows, by whatever way extraction comes to its end."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from bv_search.errors import OutputError, StoreError
from bv_search.files import digest_bytes
from bv_search.store.dtype import widen
from bv_search.store.manifest import FileEntry, Manifest
from bv_search.store.statistics import Statistics
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.extract.conftest import Extract, contents, damage_file
from tests.extract.test_resume import FailsAtBlock
from tests.failing_disk import FailingDisk

FILE = "statistics.safetensors"


@pytest.mark.parametrize(
    "settings", [{}, {"tokens": "all", "dtype": "bfloat16"}, {"tokens": "mean", "format": "parquet"}], ids=str
)
def test_they_are_those_of_the_stored_training_rows(extract: Extract, settings: dict[str, Any]) -> None:
    store = Store.open(extract(**settings).store)
    dtype = store.manifest.dtype
    blocks = [widen(block.hidden_LTH, dtype).astype(np.float64) for block in store.split("train").blocks()]
    values_LTH = np.concatenate(blocks, axis=1)
    found = store.statistics
    varies_LH = found.deviation_LH > 0
    np.testing.assert_allclose(found.mean_LH, values_LTH.mean(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.deviation_LH[varies_LH], values_LTH.std(axis=1)[varies_LH], rtol=1e-9)
    assert varies_LH[1:].all()


def test_the_embedding_of_a_first_token_is_constant(extract: Extract) -> None:
    found = Store.open(extract(tokens="first").store).statistics
    assert (found.scale_LH[0] == 0).all()
    assert (found.scale_LH[1:] > 0).all()


@pytest.mark.parametrize(
    "settings", [{}, {"tokens": "all"}, {"tokens": "mean", "dtype": "bfloat16"}], ids=str
)
def test_every_format_has_the_same_bytes(extract: Extract, tmp_path: Path, settings: dict[str, Any]) -> None:
    for fmt in ("npy", "parquet", "none"):
        extract(format=fmt, out=str(tmp_path / fmt), **settings)
    expected = (tmp_path / "npy" / FILE).read_bytes()
    assert (tmp_path / "parquet" / FILE).read_bytes() == expected
    assert (tmp_path / "none" / FILE).read_bytes() == expected


@pytest.mark.parametrize("fmt", ["npy", "none"])
def test_an_interrupted_extraction_ends_with_the_same_bytes(
    extract: Extract, tmp_path: Path, fmt: str
) -> None:
    counting = FailingDisk()
    whole = extract(format=fmt, out=str(tmp_path / "whole"), disk=counting)
    with pytest.raises(OutputError):
        extract(format=fmt, disk=FailingDisk(counting.calls // 2))
    assert 0 < extract(format=fmt).encoded_blocks < whole.blocks
    assert (tmp_path / "store" / FILE).read_bytes() == (tmp_path / "whole" / FILE).read_bytes()


def test_a_training_block_without_moments_is_encoded_again(extract: Extract, tmp_path: Path) -> None:
    whole = extract(out=str(tmp_path / "whole"))
    with pytest.raises(OutputError):
        extract(disk=FailsAtBlock(3))
    record = tmp_path / "store/.extract/done/train/00000.parquet"
    table = pq.read_table(record)
    entry = {b"entry": table.schema.metadata[b"entry"]}
    pq.write_table(table.replace_schema_metadata(entry), record)
    assert extract().encoded_blocks == whole.blocks - 1
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


def test_a_flipped_bit_is_found_by_whoever_looks(extract: Extract, tmp_path: Path) -> None:
    place = extract().store
    data = bytearray((tmp_path / "store" / FILE).read_bytes())
    data[-3] ^= 1
    (tmp_path / "store" / FILE).write_bytes(data)
    store = Store.open(place)
    assert [found.file for found in find_damage(store) if found] == [FILE]
    with pytest.raises(StoreError, match=rf"{FILE}: is damaged; expected xxh3:.*; found xxh3:.*--repair"):
        _ = store.statistics


@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_lost_ones_are_measured_from_blocks_that_are_kept(extract: Extract, tmp_path: Path, fmt: str) -> None:
    extract(format=fmt)
    whole = contents(tmp_path / "store")
    (tmp_path / "store" / FILE).unlink()
    assert extract(format=fmt, repair=True).encoded_blocks == 0
    assert contents(tmp_path / "store") == whole


def test_a_training_block_that_comes_out_otherwise_changes_them(extract: Extract, tmp_path: Path) -> None:
    manifest = extract().manifest
    whole = contents(tmp_path / "store")
    pretend_other(tmp_path / "store", manifest)
    assert extract(repair=True).encoded_blocks == 1
    assert contents(tmp_path / "store") == whole


def pretend_other(place: Path, manifest: Manifest) -> None:
    """The store as if one of its training blocks, now damaged, had held other values."""
    train = manifest.splits["train"]
    first, *others = train.kept
    train = replace(train, blocks=(replace(first, digest="xxh3:of other values"), *others))
    ones_LH = np.ones(manifest.shape)
    data = Statistics(mean_LH=ones_LH, deviation_LH=ones_LH).to_bytes()
    changed = replace(
        manifest,
        splits={**manifest.splits, "train": train},
        statistics=FileEntry(file=FILE, size=len(data), digest=digest_bytes(data)),
    )
    (place / FILE).write_bytes(data)
    (place / "manifest.json").write_bytes(changed.to_bytes())
    damage_file(place / first.file)


def test_a_store_without_them_is_of_another_version_and_made_again(extract: Extract, tmp_path: Path) -> None:
    blocks = extract().blocks
    whole = contents(tmp_path / "store")
    manifest = tmp_path / "store/manifest.json"
    manifest.write_bytes(manifest.read_bytes().replace(b'"format_version": 2', b'"format_version": 1'))
    (tmp_path / "store" / FILE).unlink()
    with pytest.raises(
        StoreError, match=r"found 1; make it again: the same `bv-search extract` with --repair"
    ):
        extract()
    assert extract(repair=True).encoded_blocks == blocks
    assert contents(tmp_path / "store") == whole
