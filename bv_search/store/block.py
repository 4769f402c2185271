"""A block: the hidden states of some windows, back to back, layer by layer.

L layers, T tokens of several windows back to back, H width.
"""

import fcntl
import io
import mmap
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from bv_search.errors import StoreError
from bv_search.files import Writable
from bv_search.store.dtype import stored_dtype

PARQUET_SCHEMA = pa.schema([pa.field("hidden", pa.large_binary(), nullable=False)])
ROW_GROUP_BYTES = 2 << 20
"""Windows of so many bytes are written and read at a time, so that a block is never held twice."""

REPAIR = "run `bv-search verify`, then the same `bv-search extract` with --repair"


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """Windows [start, stop) inside a block."""

    block: int
    start: int
    stop: int


@dataclass(frozen=True, kw_only=True)
class Block:
    """Windows `first_window` … of a split; `hidden_LTH` maps the file, so touching a part reads that part."""

    number: int
    first_window: int
    lengths: np.ndarray
    hidden_LTH: np.ndarray

    @property
    def windows(self) -> int:
        return len(self.lengths)

    def cut(self, part: Part) -> "Block":
        """A part of it, still mapped."""
        if (part.start, part.stop) == (0, self.windows):
            return self
        before = int(self.lengths[: part.start].sum())
        here = int(self.lengths[part.start : part.stop].sum())
        return Block(
            number=self.number,
            first_window=self.first_window + part.start,
            lengths=self.lengths[part.start : part.stop],
            hidden_LTH=self.hidden_LTH[:, before : before + here],
        )


def npy_header(shape: tuple[int, int, int], dtype: str) -> bytes:
    """What stands before the values in a .npy file of this shape."""
    file = io.BytesIO()
    descr = stored_dtype(dtype).str
    np.lib.format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})
    return file.getvalue()


def map_npy(path: Path, shape: tuple[int, int, int], dtype: str) -> np.ndarray:
    """The values of a block without reading them. Anything but a plain array of this shape is refused.

    The map keeps a shared lock on the file as long as it is there, so that a node cache keeps the file.
    """
    header = check_header(path, shape, dtype)
    with path.open("rb") as file:
        with suppress(OSError):  # of a disk that knows no locks: then it is no node cache's
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    values = int(np.prod(shape))
    if len(mapped) != len(header) + values * stored_dtype(dtype).itemsize:
        raise StoreError(
            "is truncated",
            where=path,
            expected=f"{len(header) + values * 2} bytes",
            found=len(mapped),
            do=REPAIR,
        )
    return np.frombuffer(mapped, stored_dtype(dtype), values, len(header)).reshape(shape)


def check_header(path: Path, shape: tuple[int, int, int], dtype: str) -> bytes:
    """The first bytes of a block, which say its dtype and shape."""
    header = npy_header(shape, dtype)
    with path.open("rb") as file:
        if file.read(len(header)) != header:
            raise StoreError(
                "is not the block it should be", where=path, expected=_described(header), do=REPAIR
            )
    return header


def _described(header: bytes) -> str:
    return header[10:].decode("latin-1").strip()


def write_parquet(file: Writable, hidden_LTH: np.ndarray, lengths: Sequence[int]) -> None:
    """The same values as one binary per window, each (layers, its tokens, width), a few windows at a time."""
    with pq.ParquetWriter(
        file, PARQUET_SCHEMA, compression="none", use_dictionary=False, write_statistics=False
    ) as writer:
        start = 0
        for group in _row_groups(lengths, hidden_LTH[:, :1].nbytes):
            stop = start + sum(group)
            writer.write_table(_rows(hidden_LTH[:, start:stop], group))
            start = stop


def _row_groups(lengths: Sequence[int], token_bytes: int) -> Iterator[Sequence[int]]:
    """Lengths of the windows that are written, and later read, together."""
    ends = np.cumsum(lengths) * token_bytes
    first = 0
    for stop, end in enumerate(ends, start=1):
        before = ends[first - 1] if first else 0
        if end - before >= ROW_GROUP_BYTES or stop == len(lengths):
            yield lengths[first:stop]
            first = stop


def _rows(hidden_LTH: np.ndarray, lengths: Sequence[int]) -> pa.Table:
    ends = np.concatenate([[0], np.cumsum(lengths)])
    values = np.concatenate([hidden_LTH[:, a:b].reshape(-1) for a, b in pairwise(ends)])
    offsets = ends * hidden_LTH[:, :1].nbytes
    buffers = [None, pa.py_buffer(offsets.astype(np.int64)), pa.py_buffer(values)]
    column = pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(lengths), buffers)
    return pa.table([column], schema=PARQUET_SCHEMA)


def read_parquet(path: Path, shape: tuple[int, int, int], lengths: np.ndarray, dtype: str) -> np.ndarray:
    """The values of a Parquet block, back to back. Extension types would bring code with them: refused."""
    hidden_LTH = np.empty(shape, stored_dtype(dtype))
    try:
        with pq.ParquetFile(path) as file:
            if not file.schema_arrow.equals(PARQUET_SCHEMA):
                raise StoreError(
                    "is not a block", where=path, expected="one column, hidden: binary", found=_columns(file)
                )
            _fill(hidden_LTH, file, lengths)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise StoreError("is damaged", where=path, found=error, do=REPAIR) from error
    return hidden_LTH


def _fill(hidden_LTH: np.ndarray, file: pq.ParquetFile, lengths: np.ndarray) -> None:
    layers, _, width = hidden_LTH.shape
    rows = (row for group in range(file.num_row_groups) for row in file.read_row_group(group).column(0))
    start = 0
    for row, length in zip(rows, lengths, strict=True):
        values = np.frombuffer(row.as_buffer(), hidden_LTH.dtype)
        hidden_LTH[:, start : start + length] = values.reshape(layers, length, width)
        start += length


def _columns(file: pq.ParquetFile) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in file.schema_arrow)


def layer_digest(layer_TH: np.ndarray) -> str:
    """64 bits are enough to find damage in one channel, and a manifest holds many of them."""
    return xxhash.xxh3_64_hexdigest(np.ascontiguousarray(layer_TH).data)
