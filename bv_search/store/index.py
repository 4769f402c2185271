"""The index of a split: one row per window, in the store's order, with all that scoring needs."""

import io
from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bv_search.errors import StoreError
from bv_search.store.layout import BlockPlan
from bv_search.tasks.window import WINDOW_SCHEMA

PLACE = [
    pa.field("block", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("tokens", pa.int32()),
    pa.field("role", pa.string()),
    pa.field("seen", pa.bool_()),
]
INDEX_SCHEMA: pa.Schema = pa.schema([*WINDOW_SCHEMA, *PLACE])
LOGITS_SCHEMA: pa.Schema = pa.schema(
    [pa.field("id", pa.string()), pa.field("logits", pa.list_(pa.float32()))]
)

COMPACT: dict[str, Any] = {
    "compression": "zstd",
    "compression_level": 9,
    "use_dictionary": False,
    "write_statistics": False,
}
"""Token ids hardly repeat, so a dictionary of them only adds to them: a third of the file."""

GROUP = 1024  # windows that are spelt out at once


def place_windows(
    windows: pa.Table, plans: Sequence[BlockPlan], stored: Sequence[int], role: str, seen: np.ndarray
) -> pa.Table:
    """Windows in the store's order, each with the place of its hidden states."""
    stored_N = np.asarray(stored, np.int64)
    block_N = np.repeat([plan.number for plan in plans], [plan.windows for plan in plans]).astype(np.int32)
    ends_N = np.cumsum(stored_N)
    block_starts = np.repeat(
        [int(ends_N[plan.first] - stored_N[plan.first]) for plan in plans], [plan.windows for plan in plans]
    )
    columns = [
        pa.array(block_N, pa.int32()),
        pa.array(ends_N - stored_N - block_starts, pa.int64()),
        pa.array(stored_N, pa.int32()),
        pa.array([role] * len(stored_N), pa.string()),
        pa.array(seen, pa.bool_()),
    ]
    table = windows.cast(pa.schema(WINDOW_SCHEMA)).combine_chunks()
    return pa.Table.from_arrays([*table.columns, *columns], schema=INDEX_SCHEMA)


def index_bytes(index: pa.Table, plans: Sequence[BlockPlan]) -> bytes:
    """The index as a file, one row group per block, so that encoding a block reads only its rows."""
    return _grouped_bytes(index, [(plan.first, plan.windows) for plan in plans])


def windows_bytes(windows: pa.Table) -> bytes:
    return _grouped_bytes(windows, [(first, GROUP) for first in range(0, windows.num_rows, GROUP)])


def _grouped_bytes(table: pa.Table, groups: Sequence[tuple[int, int]]) -> bytes:
    """Each group's texts are spelt out only while it is written."""
    file, schema = io.BytesIO(), spelt(table.schema)
    with pq.ParquetWriter(file, schema, **COMPACT) as writer:
        for first, count in groups:
            writer.write_table(table.slice(first, count).cast(schema), row_group_size=max(count, 1))
    return file.getvalue()


def spelt(schema: pa.Schema) -> pa.Schema:
    """As files have it: a text in every row, where memory keeps each of them once."""
    kinds = [each.type.value_type if pa.types.is_dictionary(each.type) else each.type for each in schema]
    return pa.schema([each.with_type(kind) for each, kind in zip(schema, kinds, strict=True)])


def table_bytes(table: pa.Table) -> bytes:
    file = io.BytesIO()
    pq.write_table(table, file, **COMPACT)
    return file.getvalue()


def logits_table(ids: pa.ChunkedArray, logits: Sequence[np.ndarray]) -> pa.Table:
    """The encoder's own logits, flat: a window's length and the task give back their shape."""
    flat = [np.asarray(each, np.float32).ravel() for each in logits]
    offsets = np.concatenate([[0], np.cumsum([len(each) for each in flat])]).astype(np.int32)
    values = np.concatenate(flat) if flat else np.empty(0, np.float32)
    column = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))
    return pa.table([ids, column.cast(LOGITS_SCHEMA.field("logits").type)], schema=LOGITS_SCHEMA)


def read_columns(
    path: Path | pa.BufferReader,
    schema: pa.Schema,
    columns: Sequence[str] | None = None,
    group: int | None = None,
) -> pa.Table:
    """Columns of an index or logits file, if it has exactly the schema it should."""
    try:
        footer = _footer(path, *_state(path)) if isinstance(path, Path) else pq.read_metadata(path)
        there = footer.schema.to_arrow_schema()
        if not there.equals(spelt(schema)):
            raise StoreError(
                "has other columns than an index of this version",
                where=path,
                expected=", ".join(schema.names),
                found=", ".join(there.names),
                do="extract again",
            )
        once = [each.name for each in schema if pa.types.is_dictionary(each.type)]
        with pq.ParquetFile(path, metadata=footer, read_dictionary=once, memory_map=True) as file:
            names = None if columns is None else list(columns)
            return file.read(names) if group is None else file.read_row_group(group, names)
    except (pa.ArrowException, OSError) as error:
        raise StoreError("is damaged", where=path, found=error, do="extract again with --repair") from error


@lru_cache(maxsize=8)
def _footer(path: Path, size: int, changed: int) -> pq.FileMetaData:
    """It has a part for every block: parsed for each of them, it would take the square of their number."""
    return pq.read_metadata(path, memory_map=True)


def _state(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def list_arrays(column: pa.ChunkedArray) -> list[np.ndarray]:
    """A list column as NumPy arrays, without a Python object per value."""
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    offsets = column.offsets.to_numpy()
    values = column.values.to_numpy(zero_copy_only=False)
    return [values[start:stop] for start, stop in pairwise(offsets)]
