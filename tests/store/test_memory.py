"""Blocks in memory stay within the bytes that are given for them."""

from pathlib import Path

import numpy as np
import pytest

from bv_search.errors import StoreError
from bv_search.store.memory import MAPS, BlockMemory
from bv_search.store.store import Store
from bv_search.words import spell_size
from tests.store.small import make_store


def open_map(memory: BlockMemory, file: str, size: int) -> np.ndarray:
    memory.take(file, size)
    mapped = memory.map(file, lambda: np.zeros(1, np.uint8))  # what it is said to take counts
    memory.release(file)
    return mapped


def test_maps_are_kept_and_the_one_used_longest_ago_makes_room() -> None:
    memory = BlockMemory(30)
    first, second, _ = (open_map(memory, file, 10) for file in "abc")
    assert open_map(memory, "a", 10) is first
    open_map(memory, "d", 10)
    assert memory.bytes == 30
    assert open_map(memory, "a", 10) is first
    assert open_map(memory, "b", 10) is not second


def test_a_block_in_use_stays() -> None:
    memory = BlockMemory(25)
    memory.take("a", 10)
    memory.take("b", 10)
    assert not memory.fits("c", 10)
    assert memory.fits("a", 10)
    memory.release("a")
    assert memory.fits("c", 10)
    memory.take("c", 20)
    assert memory.bytes == 30  # one reader may always have one block


def test_without_a_limit_only_file_descriptors_are_counted() -> None:
    memory = BlockMemory()
    for number in range(MAPS + 10):
        open_map(memory, str(number), 1 << 30)
    assert memory.bytes == MAPS << 30


@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_every_pass_stays_within_the_window_and_reads_the_same(tmp_path: Path, fmt: str) -> None:
    sizes = [b.size for split in make_store(tmp_path / "s", format=fmt).splits() for b in split.entry.kept]
    for most_bytes in (max(sizes), 2 * max(sizes), sum(sizes)):
        store, free = (Store.open(tmp_path / "s", memory=each) for each in (most_bytes, None))
        for name in ("train", "dev", "train"):
            pairs = zip(store.split(name).blocks(), free.split(name).blocks(), strict=True)
            for block, expected in pairs:
                assert store.memory.bytes <= most_bytes
                np.testing.assert_array_equal(block.hidden_LTH, expected.hidden_LTH)
        assert store.memory.bytes > 0 if fmt == "npy" else store.memory.bytes == 0


def test_reading_ahead_stops_where_there_is_no_room(store: Store) -> None:
    largest = max(block.size for split in store.splits() for block in split.entry.kept)
    for most_bytes, most in ((largest, 1), (2 * largest, 2), (9 * largest, 3)):
        reader = Store.open(store.path, memory=most_bytes)
        blocks = reader.split("train").blocks()
        next(blocks)
        sizes = [block.size for block in reader.split("train").entry.kept]
        assert reader.memory.bytes == sum(sizes[:most])
        blocks.close()  # type: ignore[attr-defined]


def test_what_was_abandoned_makes_room_again(store: Store) -> None:
    largest = max(block.size for split in store.splits() for block in split.entry.kept)
    reader = Store.open(store.path, memory=largest)
    blocks = reader.split("train").blocks()
    next(blocks)
    assert not reader.memory.fits("another", largest)
    blocks.close()  # type: ignore[attr-defined]
    assert reader.memory.fits("another", largest)


def test_a_window_smaller_than_a_block_is_refused(store: Store) -> None:
    largest = max(block.size for split in store.splits() for block in split.entry.kept)
    with pytest.raises(
        StoreError, match=rf"expected at least {spell_size(largest)}; found {spell_size(largest - 1)};"
    ):
        Store.open(store.path, memory=largest - 1)
