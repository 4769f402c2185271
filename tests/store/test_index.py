"""An index says where every window stands, and is read as it was written."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bv_search.errors import StoreError
from bv_search.store import index as module
from bv_search.store.index import (
    INDEX_SCHEMA,
    LOGITS_SCHEMA,
    index_bytes,
    list_arrays,
    logits_table,
    place_windows,
    read_columns,
    spelt,
    table_bytes,
    windows_bytes,
)
from bv_search.store.layout import BlockPlan, cut_blocks
from bv_search.tasks.window import WINDOW_SCHEMA
from tests.store.small import make_split

LENGTHS, SIZES = [4, 2, 3, 1, 5], [3, 2]


@pytest.fixture
def plans() -> list[BlockPlan]:
    return cut_blocks(LENGTHS, LENGTHS, SIZES)


@pytest.fixture
def index(plans: list[BlockPlan]) -> pa.Table:
    seen = np.array([True, False, False, True, False])
    return place_windows(make_split(5).index, plans, LENGTHS, "train", seen)


def test_each_window_has_its_block_and_its_offset_there(index: pa.Table) -> None:
    assert index.schema == INDEX_SCHEMA
    assert index["block"].to_pylist() == [0, 0, 0, 1, 1]
    assert index["offset"].to_pylist() == [0, 4, 6, 0, 1]
    assert index["tokens"].to_pylist() == LENGTHS
    assert set(index["role"].to_pylist()) == {"train"}
    assert index["seen"].to_pylist() == [True, False, False, True, False]
    assert index["id"].to_pylist() == [f"r{n}#0" for n in range(5)]


def test_the_rows_of_one_block_are_read_alone(
    index: pa.Table, plans: list[BlockPlan], tmp_path: Path
) -> None:
    path = tmp_path / "index.parquet"
    path.write_bytes(index_bytes(index, plans))
    assert pq.ParquetFile(path).num_row_groups == len(SIZES)
    assert read_columns(path, INDEX_SCHEMA) == index
    group = read_columns(path, INDEX_SCHEMA, ["tokens", "id"], group=1)
    assert group.to_pydict() == {"tokens": [1, 5], "id": ["r3#0", "r4#0"]}


def test_the_footer_is_parsed_once_for_all_blocks(
    index: pa.Table, plans: list[BlockPlan], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, parsed = tmp_path / "index.parquet", []
    path.write_bytes(index_bytes(index, plans))
    given = pq.ParquetFile

    def open_file(*args: Any, metadata: pq.FileMetaData | None = None, **options: Any) -> pq.ParquetFile:
        parsed.append(metadata)
        return given(*args, metadata=metadata, **options)

    monkeypatch.setattr(pq, "ParquetFile", open_file)
    for group in (0, 1):
        read_columns(path, INDEX_SCHEMA, ["id"], group=group)
    assert parsed[0] is not None
    assert parsed[0] is parsed[1]


def test_an_index_that_was_made_anew_is_read_anew(
    index: pa.Table, plans: list[BlockPlan], tmp_path: Path
) -> None:
    path = tmp_path / "index.parquet"
    path.write_bytes(index_bytes(index.slice(0, 3), plans[:1]))
    assert read_columns(path, INDEX_SCHEMA, ["id"], group=0).num_rows == 3
    path.write_bytes(index_bytes(index, plans))
    assert read_columns(path, INDEX_SCHEMA, ["id"], group=1).num_rows == 2


def test_a_passage_is_once_in_memory_and_in_every_row_of_a_file(
    index: pa.Table, plans: list[BlockPlan], tmp_path: Path
) -> None:
    """Files are as they ever were, and those of earlier versions are read alike."""
    place, type_ = index.schema.get_field_index("passage"), INDEX_SCHEMA.field("passage").type
    long = ["x" * 100_000, "y" * 100_000]
    passages = pa.array([long[0], long[1], long[0], long[0], long[0]], type_)
    path = tmp_path / "index.parquet"
    path.write_bytes(index_bytes(index.set_column(place, INDEX_SCHEMA.field(place), passages), plans))
    assert pq.read_schema(path) == spelt(INDEX_SCHEMA)
    assert pq.read_schema(path).field("passage").type == pa.string()
    found = read_columns(path, INDEX_SCHEMA)["passage"]
    assert found.nbytes < 2.1 * 100_000
    assert found.to_pylist() == passages.to_pylist()
    group = read_columns(path, INDEX_SCHEMA, ["passage"], group=1)["passage"]
    assert group.to_pylist() == [long[0]] * 2


def test_windows_on_their_way_to_an_index_are_read_as_they_were_written(
    index: pa.Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "GROUP", 2)
    windows = index.select(WINDOW_SCHEMA.names)
    for table in (windows, windows.slice(0, 0)):
        file = pa.BufferReader(windows_bytes(table))
        assert read_columns(file, WINDOW_SCHEMA).combine_chunks() == table.combine_chunks()


def test_columns_of_another_version_are_refused(index: pa.Table) -> None:
    file = pa.BufferReader(table_bytes(index.drop_columns(["seen"])))
    with pytest.raises(StoreError, match=r"other columns than an index of this version; .* extract again"):
        read_columns(file, INDEX_SCHEMA)


def test_what_is_no_index_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "index.parquet"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(StoreError, match=r"index\.parquet: is damaged; .* --repair"):
        read_columns(path, INDEX_SCHEMA)


@pytest.mark.parametrize("count", [0, 3])
def test_logits_are_kept_flat_whatever_their_shape(count: int) -> None:
    logits = [np.arange(2.0 * (n + 1)).reshape(-1, 2) for n in range(count)]
    ids = pa.chunked_array([pa.array([f"r{n}" for n in range(count)], pa.string())])
    table = read_columns(pa.BufferReader(table_bytes(logits_table(ids, logits))), LOGITS_SCHEMA)
    found = list_arrays(table["logits"]) if count else []
    assert table["id"].to_pylist() == ids.to_pylist()
    assert len(found) == count
    for each, expected in zip(found, logits, strict=True):
        assert each.dtype == np.float32
        np.testing.assert_array_equal(each, expected.ravel())


def test_lists_come_as_arrays_from_a_slice_too() -> None:
    column = pa.chunked_array([[[1, 2], [3]], [[], [4, 5, 6]]], pa.list_(pa.int32()))
    assert [each.tolist() for each in list_arrays(column)] == [[1, 2], [3], [], [4, 5, 6]]
    assert [each.tolist() for each in list_arrays(column.slice(1, 2))] == [[3], []]
