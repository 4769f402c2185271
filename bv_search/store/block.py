"""A block: the hidden states of some windows, back to back, layer by layer.

L layers, T tokens of several windows back to back, H width.
"""

import io
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from bv_search.errors import StoreError
from bv_search.store.dtype import stored_dtype

PARQUET_SCHEMA = pa.schema([pa.field("hidden", pa.large_binary(), nullable=False)])
REPAIR = "run `bv-search store verify`, then the same `bv-search extract` with --repair"


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
    """The values of a block without reading them. Anything but a plain array of this shape is refused."""
    header = npy_header(shape, dtype)
    with path.open("rb") as file:
        found = file.read(len(header))
        if found != header:
            raise StoreError(
                "is not the block it should be", where=path, expected=_described(header), do=REPAIR
            )
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


def _described(header: bytes) -> str:
    return header[10:].decode("latin-1").strip()


def parquet_bytes(hidden_LTH: np.ndarray, lengths: Sequence[int]) -> bytes:
    """The same values as one binary per window, each (layers, its tokens, width)."""
    borders = np.concatenate([[0], np.cumsum(lengths)])
    rows = [np.ascontiguousarray(hidden_LTH[:, a:b]).tobytes() for a, b in pairwise(borders)]
    file = io.BytesIO()
    with pq.ParquetWriter(
        file, PARQUET_SCHEMA, compression="none", use_dictionary=False, write_statistics=False
    ) as writer:
        writer.write_table(pa.table([pa.array(rows, pa.large_binary())], schema=PARQUET_SCHEMA))
    return file.getvalue()


def read_parquet(path: Path, shape: tuple[int, int, int], lengths: np.ndarray, dtype: str) -> np.ndarray:
    """The values of a Parquet block, back to back. Extension types would bring code with them: refused."""
    try:
        with pq.ParquetFile(path, memory_map=True) as file:
            if not file.schema_arrow.equals(PARQUET_SCHEMA):
                raise StoreError(
                    "is not a block", where=path, expected="one column, hidden: binary", found=_columns(file)
                )
            rows = file.read().column(0)
    except (pa.ArrowException, OSError) as error:
        raise StoreError("is damaged", where=path, found=error, do=REPAIR) from error
    layers, tokens, width = shape
    hidden_LTH = np.empty((layers, tokens, width), stored_dtype(dtype))
    start = 0
    for row, length in zip(rows, lengths, strict=True):
        hidden_LTH[:, start : start + length] = np.frombuffer(row.as_buffer(), stored_dtype(dtype)).reshape(
            layers, length, width
        )
        start += length
    return hidden_LTH


def _columns(file: pq.ParquetFile) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in file.schema_arrow)


def layer_digest(layer_TH: np.ndarray) -> str:
    """64 bits are enough to find damage in one channel, and a manifest holds many of them."""
    return xxhash.xxh3_64_hexdigest(np.ascontiguousarray(layer_TH).data)
