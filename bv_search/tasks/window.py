"""Windows: the token sequences that an encoder reads, as one Arrow table.

A row gives one window, or several where its passage is longer than a window. The table carries all
that scoring needs, so that a store can be scored without the data set that it came from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from bv_search.errors import EncoderError

Ints = npt.NDArray[np.int32]

WINDOW_SCHEMA = pa.schema(
    [
        ("id", pa.string()),  # row id, "#", number of the window in its row
        ("row", pa.string()),
        ("key", pa.uint64()),  # Row.key
        ("group", pa.uint64()),  # Row.group_key
        ("text", pa.uint64()),  # text_key of what is read: of spans the passage, else all texts of the row
        ("token_ids", pa.list_(pa.int32())),
        ("type_ids", pa.list_(pa.int8())),
        ("length", pa.int32()),  # tokens, special ones included
        ("label", pa.list_(pa.float32())),  # [start, end] tokens, [class] or [value]; [] when unlabelled
        ("starts", pa.list_(pa.int32())),  # spans only: first character of each token in the passage, or -1
        ("ends", pa.list_(pa.int32())),
        ("passage", pa.dictionary(pa.int32(), pa.string())),  # once, however many windows it has
        ("golds", pa.list_(pa.string())),  # null when unlabelled, empty when unanswerable
    ]
)

SCORING = ("id", "row", "group", "length", "label", "starts", "ends", "passage", "golds")  # columns


class Tokenizer(Protocol):
    """What is used of a transformers tokenizer; only the fast ones know where a token stands."""

    @property
    def is_fast(self) -> bool: ...
    @property
    def model_max_length(self) -> int: ...
    def __call__(self, text: Any, text_pair: Any = None, **options: Any) -> Any: ...


def require_fast(tokenizer: Tokenizer) -> None:
    if not tokenizer.is_fast:
        raise EncoderError(
            "the tokenizer has no fast form, and a slow one does not say where its tokens stand",
            where=type(tokenizer).__name__,
            do="choose an encoder whose folder has a tokenizer.json",
        )


@dataclass(kw_only=True)
class WindowRows:
    """The columns of a window table while it grows."""

    ids: list[str] = field(default_factory=list)
    rows: list[str] = field(default_factory=list)
    keys: list[int] = field(default_factory=list)
    groups: list[int] = field(default_factory=list)  # none: each row is by itself
    texts: list[int] = field(default_factory=list)  # none: each row has its own
    token_ids: list[Ints] = field(default_factory=list)
    type_ids: list[Ints] = field(default_factory=list)
    labels: list[list[float]] = field(default_factory=list)
    starts: list[Ints] = field(default_factory=list)
    ends: list[Ints] = field(default_factory=list)
    passages: list[str] = field(default_factory=list)
    golds: list[list[str] | None] = field(default_factory=list)

    def table(self) -> pa.Table:
        count = len(self.ids)
        spans = bool(self.passages)
        nulls = {name: pa.nulls(count, _type(name)) for name in _SPAN_COLUMNS}
        columns = {
            "id": pa.array(self.ids, pa.string()),
            "row": pa.array(self.rows, pa.string()),
            "key": pa.array(np.array(self.keys, dtype=np.uint64)),
            "group": pa.array(np.array(self.groups or self.keys, dtype=np.uint64)),
            "text": pa.array(np.array(self.texts or self.keys, dtype=np.uint64)),
            "token_ids": _lists(self.token_ids, np.int32),
            "type_ids": _lists(self.type_ids, np.int8),
            "length": pa.array(np.array([len(ids) for ids in self.token_ids], dtype=np.int32)),
            "label": pa.array(self.labels, pa.list_(pa.float32())),
            "starts": _lists(self.starts, np.int32) if spans else nulls["starts"],
            "ends": _lists(self.ends, np.int32) if spans else nulls["ends"],
            "passage": pa.array(self.passages, _type("passage")) if spans else nulls["passage"],
            "golds": pa.array(self.golds, pa.list_(pa.string())) if spans else nulls["golds"],
        }
        return pa.table(columns, schema=WINDOW_SCHEMA)


_SPAN_COLUMNS = ("starts", "ends", "passage", "golds")


def _type(name: str) -> pa.DataType:
    return WINDOW_SCHEMA.field(name).type


def _lists(parts: Sequence[Ints], dtype: type[np.generic]) -> Any:
    """A list column built from flat memory: 40 times faster than from Python lists of numbers."""
    offsets = np.zeros(len(parts) + 1, dtype=np.int32)
    np.cumsum([len(part) for part in parts], out=offsets[1:])
    flat = np.concatenate(parts) if parts else np.zeros(0)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat.astype(dtype, copy=False)))


def flatten(lists: Sequence[Sequence[int]]) -> Ints:
    return np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=sum(map(len, lists)))


def flat_column(index: pa.Table, name: str) -> npt.NDArray[Any]:
    """The values of a list column, window after window."""
    column = index[name].combine_chunks()
    if isinstance(column, pa.ChunkedArray):  # a table without rows has no chunks to combine
        return np.zeros(0, dtype=np.float32)
    values: npt.NDArray[Any] = column.flatten().to_numpy(zero_copy_only=False)
    return values
