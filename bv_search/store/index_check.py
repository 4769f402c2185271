"""Whether an index makes sense: digests say that it is what was written, and not what was written there."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bv_search.store.layout import Counts
from bv_search.store.manifest import SplitEntry
from bv_search.tasks.task import Task

PLACES = ("id", "label", "length", "block", "offset", "tokens", "role", "seen")
"""Columns that are looked at before any of an index is believed."""

READ = ("token_ids", "type_ids")
"""Those that only an encoder reads, and that are most of the file."""

WORDS = ("starts", "ends", "passage", "golds")
"""Columns that only rows of spans have."""

Flaw = tuple[object, object]  # what is expected, what is found


def flaws(index: pa.Table, entry: SplitEntry, task: Task) -> Iterator[Flaw]:
    """What an index says that cannot be; columns that it lacks are not looked at. The first is enough."""
    for name in (name for name in index.column_names if name not in WORDS):
        column = index[name]
        nulls = column.null_count + (
            pc.list_flatten(column).null_count if pa.types.is_list(column.type) else 0
        )
        if nulls:
            yield f"a value in every row of {name}", f"{nulls} without"
            return
    if set(PLACES) <= set(index.column_names):
        yield from _flaws_of_places(index, entry)
        yield from _flaws_of_labels(index, task)
    if set(READ) <= set(index.column_names):
        yield from _flaws_of_tokens(index)


def _flaws_of_places(index: pa.Table, entry: SplitEntry) -> Iterator[Flaw]:
    ids = index["id"]
    if (different := pc.count_distinct(ids).as_py()) != len(ids):
        yield "an id of its own for every window", f"{different} ids of {len(ids)} windows"
    others = pc.unique(index["role"]).to_pylist()
    if others != [entry.role]:
        yield f"role {entry.role}", ", ".join(map(repr, others))
    tokens_N = index["tokens"].to_numpy()
    if tokens_N.min(initial=1) < 1:
        yield "a stored token or more in every window", int(tokens_N.min())
    windows = [block.windows for block in entry.blocks]
    if not np.array_equal(index["block"].to_numpy(), np.repeat(np.arange(len(windows)), windows)):
        yield f"windows in the order of {len(windows)} blocks", "another order"
    elif not np.array_equal(index["offset"].to_numpy(), _offsets(tokens_N, windows)):
        yield "windows back to back in their blocks", "other offsets"


def _offsets(tokens_N: np.ndarray, windows: Counts) -> np.ndarray:
    """Where each window begins in its block."""
    starts_N = np.cumsum(tokens_N, dtype=np.int64) - tokens_N
    firsts = np.cumsum([0, *windows])[:-1]
    offsets: np.ndarray = starts_N - np.repeat(starts_N[firsts], windows)
    return offsets


def _flaws_of_labels(index: pa.Table, task: Task) -> Iterator[Flaw]:
    counts_N = pc.list_value_length(index["label"]).to_numpy()
    values = pc.list_flatten(index["label"]).to_numpy()
    size = task.label_size
    if not np.isin(counts_N, (0, size)).all():
        yield f"{size} number(s) for a label, or none", int(counts_N[~np.isin(counts_N, (0, size))][0])
        return
    wrong = values[~task.sound_labels(values, index["length"].to_numpy()[counts_N > 0])]
    if len(wrong):
        yield task.sound, f"{wrong[0]:g}"


def _flaws_of_tokens(index: pa.Table) -> Iterator[Flaw]:
    lengths = index["length"].to_numpy()
    for name in READ:
        if not np.array_equal(pc.list_value_length(index[name]).to_numpy(), lengths):
            yield f"as many {name} as its length in every window", "others"
    least = pc.min(pc.list_flatten(index["token_ids"])).as_py()
    if least is not None and least < 0:
        yield "token ids of 0 or above", least
