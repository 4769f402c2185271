"""Predictions of one model on one role: logits per window, in a Parquet file that knows its own digest."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import xxhash

from bv_search.document import check_plain
from bv_search.errors import RunError
from bv_search.files import DISK, Disk, write_atomic
from bv_search.tasks.row import Role

SCHEMA = pa.schema([pa.field("id", pa.string()), pa.field("logits", pa.list_(pa.float32()))])
DIGEST, WIDTH = b"bv.digest", b"bv.width"
FLAT = "flat"  # one vector per window; a number is the width of its (tokens, width) matrix


@dataclass(frozen=True)
class Predictions:
    ids: tuple[str, ...]  # of windows
    logits: list[np.ndarray]  # (tokens, 2) for spans, (C,) otherwise


def predictions_file(role: Role) -> str:
    """The name of it in a trial's folder; those of `train` are out of fold."""
    return f"{role}.parquet"


def write_predictions(
    path: Path, ids: Sequence[str], logits: Sequence[np.ndarray] | np.ndarray, disk: Disk = DISK
) -> Path:
    """Write whole or not at all."""
    assert len(ids) == len(logits), (len(ids), len(logits))
    width = str(logits[0].shape[1]) if len(logits) and logits[0].ndim == 2 else FLAT
    values = np.concatenate([item.reshape(-1) for item in logits]) if len(logits) else np.empty(0)
    values = np.ascontiguousarray(values, dtype=np.float32)
    offsets = np.zeros(len(logits) + 1, dtype=np.int32)
    np.cumsum([item.size for item in logits], out=offsets[1:])
    table = pa.table(
        [
            pa.array(list(ids), pa.string()),
            pa.ListArray.from_arrays(pa.array(offsets), pa.array(values)),
        ],
        schema=SCHEMA.with_metadata({DIGEST: _digest(ids, offsets, values), WIDTH: width}),
    )
    write_atomic(path, lambda file: pq.write_table(table, file, compression="zstd"), disk)
    return path


def read_predictions(path: Path, *, ids: Sequence[str] | None = None) -> Predictions:
    """Read and check. With `ids`, also check that they are for exactly these windows, in this order."""
    check_plain(path, RunError)
    try:
        table = pq.read_table(path, memory_map=False)
        metadata = table.schema.metadata or {}
        digest, width = metadata[DIGEST], metadata[WIDTH].decode()
        columns = 1 if width == FLAT else int(width)
        column = table.column("logits").combine_chunks()
        found = tuple(table.column("id").to_pylist())
        offsets, values = column.offsets.to_numpy(), column.values.to_numpy()
        if columns < 1 or np.any(np.diff(offsets) % columns):
            raise ValueError(f"rows of a width of {columns}")
    except (OSError, KeyError, ValueError, pa.ArrowException, AttributeError) as cause:
        raise RunError(
            "is damaged", where=path, expected="predictions written by bv_search", found=cause
        ) from cause
    if (now := _digest(found, offsets, values)) != digest:
        raise RunError(
            "is damaged",
            where=path,
            expected=f"digest {digest.decode()}",
            found=now.decode(),
            do="run the trial again",
        )
    if ids is not None and found != tuple(ids):
        raise RunError(
            "belongs to other rows",
            where=path,
            expected=f"{len(ids)} windows of the run's store",
            found=f"{len(found)} windows, of which some differ",
            do="give the store that the run was made on",
        )
    return Predictions(found, _matrices(values, offsets, width))


def _matrices(values: np.ndarray, offsets: np.ndarray, width: str) -> list[np.ndarray]:
    pieces = [values[start:end] for start, end in pairwise(offsets)]
    return pieces if width == FLAT else [piece.reshape(-1, int(width)) for piece in pieces]


def _digest(ids: Sequence[str], offsets: np.ndarray, values: np.ndarray) -> bytes:
    state = xxhash.xxh3_128("\n".join(ids).encode())
    state.update(np.ascontiguousarray(offsets, dtype=np.int32).tobytes())
    state.update(np.ascontiguousarray(values, dtype=np.float32).tobytes())
    return f"xxh3:{state.hexdigest()}".encode()
