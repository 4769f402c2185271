"""Damage is found when a block is first used."""

from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.errors import StoreError
from bv_search.store.store import Store
from tests.store.small import make_split, make_store


def flip(path: Path, place: int) -> None:
    data = bytearray(path.read_bytes())
    data[place] ^= 16
    path.write_bytes(data)


@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_a_flipped_bit_is_found_where_it_is_read(tmp_path: Path, fmt: str) -> None:
    store = make_store(tmp_path / "store", format=fmt)
    flip(tmp_path / f"store/train/blocks/00002.{fmt}", 700)
    blocks = store.split("train").blocks()
    assert [next(blocks).number, next(blocks).number] == [0, 1]
    with pytest.raises(
        StoreError, match=rf"train/blocks/00002.{fmt}: is damaged.*expected digest.*found.*--repair"
    ):
        next(blocks)


def test_without_verification_it_is_not_looked_for(store: Store) -> None:
    flip(Path(store.path) / "train/blocks/00002.npy", 700)
    assert len(list(store.split("train").blocks(verify=False))) == 5
    assert len(list(Store.open(store.path, verify=False).split("train").blocks())) == 5


def test_one_layer_is_checked_by_itself(store: Store) -> None:
    path = Path(store.path) / "train/blocks/00000.npy"
    flip(path, path.stat().st_size - 1)
    read = store.split("train")
    assert len(list(read.blocks(layers=[0, 1]))) == 5
    with pytest.raises(StoreError, match="is damaged in layer 2"):
        list(read.blocks(layers=[2]))


def test_a_block_is_checked_once(store: Store) -> None:
    read = store.split("train")
    assert len(list(read.blocks())) == 5
    flip(Path(store.path) / "train/blocks/00000.npy", 700)
    assert len(list(read.blocks())) == 5
    with pytest.raises(StoreError, match="is damaged"):
        list(Store.open(store.path).split("train").blocks())


def test_a_damaged_index_is_refused(store: Store) -> None:
    flip(Path(store.path) / "train/index.parquet", 100)
    with pytest.raises(StoreError, match=r"train/index.parquet: is damaged"):
        list(store.split("train").blocks())


def test_damaged_logits_are_refused(store: Store) -> None:
    flip(Path(store.path) / "train/encoder.parquet", 100)
    with pytest.raises(StoreError, match=r"train/encoder.parquet: is damaged"):
        store.split("train").encoder_logits()


def test_blocks_of_another_index_are_refused(store: Store, tmp_path: Path) -> None:
    other = make_store(tmp_path / "other", {"train": make_split(seed=5)})
    entry = other.manifest.splits["train"].index
    store.folder.write(entry.file, other.folder.read(entry.file))
    split = replace(store.manifest.splits["train"], index=entry)
    mixed = Store(store.folder, replace(store.manifest, splits={"train": split}))
    with pytest.raises(StoreError, match="has other tokens than the index"):
        list(mixed.split("train").blocks())
