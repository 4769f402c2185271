"""A store from arrays and back, in every form and place."""

import uuid
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bv_search.errors import StoreError, UnknownName
from bv_search.store.block import Part
from bv_search.store.dtype import narrow
from bv_search.store.store import Store
from tests.store.small import make_split, make_store


@pytest.fixture(params=["local", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "store") if request.param == "local" else f"memory://{uuid.uuid4().hex}/store"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_every_window_comes_back_in_its_place(place: str, fmt: str, dtype: str) -> None:
    split = make_split()
    make_store(place, {"train": split}, format=fmt, dtype=dtype)
    read = Store.open(place).split("train")
    assert read.block_windows == (16, 16, 16, 16, 8)
    seen = 0
    for block in read.blocks():
        assert block.first_window == seen
        ends = np.concatenate([[0], np.cumsum(block.lengths)])
        for number, (start, end) in enumerate(pairwise(ends)):
            expected = narrow(split.hidden[seen + number], dtype)
            np.testing.assert_array_equal(block.hidden_LTH[:, start:end], expected)
        seen += block.windows
    assert seen == read.windows == 72


def test_index_and_logits_come_back_in_the_same_order(place: str) -> None:
    split = make_split()
    assert split.logits is not None
    make_store(place, {"train": split})
    read = Store.open(place).split("train")
    assert read.index["id"].to_pylist() == split.index["id"].to_pylist()
    assert set(read.index["role"].to_pylist()) == {"train"}
    offsets, blocks, tokens = (read.index[name].to_numpy() for name in ("offset", "block", "tokens"))
    assert offsets[0] == 0
    assert all(
        offset == 0 if block != before else offset == last + count
        for (before, last, count), (block, offset) in zip(
            zip(blocks, offsets, tokens, strict=True), zip(blocks[1:], offsets[1:], strict=True), strict=False
        )
    )
    logits = read.encoder_logits()
    assert logits is not None
    np.testing.assert_array_equal(np.stack(logits), np.stack(split.logits))


def test_an_encoder_without_predictions_leaves_no_logits(place: str) -> None:
    make_store(place, {"train": make_split(logits=False)})
    store = Store.open(place)
    assert store.split("train").encoder_logits() is None
    assert store.manifest.baseline is None


def test_a_range_is_cut_out_of_its_blocks(store: Store) -> None:
    read = store.split("train")
    parts = list(read.blocks(start=10, stop=40))
    assert [(part.number, part.first_window, part.windows) for part in parts] == [
        (0, 10, 6),
        (1, 16, 16),
        (2, 32, 8),
    ]
    whole = np.concatenate([block.hidden_LTH for block in read.blocks()], axis=1)
    before, after = read.lengths[:10].sum(), read.lengths[:40].sum()
    cut = np.concatenate([part.hidden_LTH for part in parts], axis=1)
    np.testing.assert_array_equal(cut, whole[:, before:after])


def test_a_prefix_is_read_without_later_blocks(store: Store) -> None:
    for number in range(2, 5):
        (Path(store.path) / f"train/blocks/{number:05d}.npy").unlink()
    assert sum(block.windows for block in store.split("train").blocks(stop=32)) == 32
    with pytest.raises(StoreError, match=r"blocks/00002.npy: is missing.*--repair"):
        list(store.split("train").blocks(stop=33))


def test_blocks_are_visited_in_the_order_asked_for(store: Store) -> None:
    order = [4, 0, 3, 1, 2]
    assert [block.number for block in store.split("train").blocks(order=order)] == order
    parts = [Part(block=3, start=0, stop=16), Part(block=0, start=4, stop=8), Part(block=3, start=8, stop=9)]
    firsts = [(block.first_window, block.windows) for block in store.split("train").read(parts)]
    assert firsts == [(48, 16), (4, 4), (56, 1)]


def test_a_reader_that_stops_early_leaves_nothing_running(store: Store) -> None:
    blocks = store.split("train").blocks()
    next(blocks)
    blocks.close()  # type: ignore[attr-defined]


def test_splits_are_found_by_name_and_by_role(store: Store) -> None:
    assert [split.name for split in store.splits()] == ["train", "dev"]
    assert [split.name for split in store.splits("report")] == ["dev"]
    with pytest.raises(UnknownName, match=r"no split named 'trian'.*did you mean 'train'"):
        store.split("trian")


def test_the_task_comes_with_the_store(store: Store) -> None:
    assert store.task.name == "mrpc"
    assert store.encoder_parameters == 1000


def test_a_folder_without_a_manifest_is_no_store(tmp_path: Path, store: Store) -> None:
    with pytest.raises(StoreError, match=r"is not a store.*no such folder"):
        Store.open(tmp_path / "nowhere")
    with pytest.raises(StoreError, match=r"is not a store.*no such file"):
        Store.open(tmp_path)
    (Path(store.path) / "manifest.json").rename(Path(store.path) / "elsewhere.json")
    with pytest.raises(StoreError, match="is not a store"):
        Store.open(store.path)


def test_equal_arrays_give_equal_stores(tmp_path: Path) -> None:
    one, two = make_store(tmp_path / "one"), make_store(tmp_path / "two")
    assert one.digest == two.digest
    for entry in one.manifest.files():
        assert one.folder.read(entry.file) == two.folder.read(entry.file)
