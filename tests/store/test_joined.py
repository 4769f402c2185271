"""Splits that are read as one: every window in its place, in whatever order."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bv_search.store.block import Block, Part
from bv_search.store.joined import JoinedSplit
from bv_search.store.layout import BlockLimits
from bv_search.store.store import Store
from tests.store.small import make_split, make_store


def stored(place: Path, train: int = 72, select: int = 40, **settings: Any) -> Store:
    """Blocks of 16 windows: of train, the last one has 8."""
    splits = {
        "train": make_split(train),
        "select": make_split(select, role="select", seed=1),
        "dev": make_split(20, role="report", seed=2),
    }
    return make_store(place, splits, **settings)


def joined(store: Store) -> JoinedSplit:
    return JoinedSplit([store.split("train"), store.split("select")])


def hidden(blocks: list[Block]) -> np.ndarray:
    return np.concatenate([block.hidden_LTH for block in blocks], axis=1)


def whole(split: JoinedSplit) -> list[Part]:
    return [Part(block=number, start=0, stop=windows) for number, windows in enumerate(split.block_windows)]


def test_of_one_token_a_window_all_windows_follow_one_another(tmp_path: Path) -> None:
    store = stored(tmp_path / "store", tokens="first")
    split = joined(store)
    parts = [store.split(name) for name in ("train", "select")]

    assert (split.name, split.windows, split.store) == ("train+select", 112, store)
    assert split.block_windows == (16, 16, 16, 16, 8, 16, 16, 8)
    ids = [name for part in parts for name in part.index["id"].to_pylist()]
    assert split.index_columns(["id"])["id"].to_pylist() == ids
    blocks = list(split.read(whole(split)))
    assert [block.number for block in blocks] == list(range(8))
    assert [block.first_window for block in blocks] == [0, 16, 32, 48, 64, 72, 88, 104]
    np.testing.assert_array_equal(hidden(blocks), hidden([b for part in parts for b in part.blocks()]))


@pytest.mark.parametrize(("train", "blocks"), [(72, (16,) * 4), (64, (16,) * 4), (90, (16,) * 5)])
def test_of_many_tokens_only_the_last_micro_batch_may_be_short(
    tmp_path: Path, train: int, blocks: tuple[int, ...]
) -> None:
    """What train has behind its last full one is left out, and numbers go on without a gap."""
    store = stored(tmp_path / "store", train=train)
    split, full = joined(store), sum(blocks)
    own, select = store.split("train"), store.split("select")

    assert split.block_windows == (*blocks, 16, 16, 8)
    assert split.windows == full + 40 == len(split.lengths)
    assert split.lengths.tolist() == [*own.lengths[:full], *select.lengths]
    ids = [*own.index["id"].to_pylist()[:full], *select.index["id"].to_pylist()]
    assert split.index_columns(["id"])["id"].to_pylist() == ids
    read = list(split.read(whole(split)))
    assert [block.first_window for block in read] == list(range(0, full + 40, 16))
    assert [n for block in read for n in block.lengths] == split.lengths.tolist()
    expected = [*own.blocks(stop=full), *select.blocks()]
    np.testing.assert_array_equal(hidden(read), hidden(expected))


def test_a_last_block_that_is_cut_in_the_middle_keeps_its_full_micro_batches(tmp_path: Path) -> None:
    store = stored(tmp_path / "store", train=75, limits=BlockLimits(bytes=1, windows=48))
    split = joined(store)
    assert store.split("train").block_windows == (48, 27)
    assert split.block_windows == (48, 16, 40)
    (block,) = split.read([Part(block=1, start=0, stop=16)])
    (expected,) = store.split("train").read([Part(block=1, start=0, stop=16)])
    np.testing.assert_array_equal(block.hidden_LTH, expected.hidden_LTH)


def test_parts_are_read_in_the_order_asked_for(tmp_path: Path) -> None:
    store = stored(tmp_path / "store")
    split = joined(store)
    places = [(6, 0, 8), (0, 4, 12), (2, 0, 16), (4, 0, 16), (5, 3, 5), (1, 0, 16)]

    blocks = list(split.read([Part(block=n, start=a, stop=b) for n, a, b in places]))

    assert [block.number for block in blocks] == [6, 0, 2, 4, 5, 1]
    assert [(block.first_window, block.windows) for block in blocks] == [
        (96, 8), (4, 8), (32, 16), (64, 16), (83, 2), (16, 16)
    ]  # fmt: skip
    for block in blocks:
        own = slice(block.first_window, block.first_window + block.windows)
        assert block.lengths.tolist() == split.lengths[own].tolist()
    everything, ends = hidden(list(split.read(whole(split)))), np.cumsum([0, *split.lengths])
    for block in blocks:
        first, stop = ends[block.first_window], ends[block.first_window + block.windows]
        np.testing.assert_array_equal(block.hidden_LTH, everything[:, first:stop])


def test_no_block_outlives_its_use(tmp_path: Path) -> None:
    """With room for one block, its map is gone once the next one is asked for."""
    store = stored(tmp_path / "store")
    largest = max(block.size for split in store.splits() for block in split.entry.kept)
    split = joined(Store.open(store.path, memory=largest))
    for block in split.read(whole(split)):
        assert block.windows
        del block
        mapped = Path("/proc/self/maps").read_text()
        assert mapped.count(f"{store.path}/train/blocks") + mapped.count(f"{store.path}/select/blocks") == 1
