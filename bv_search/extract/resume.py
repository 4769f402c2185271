"""What an unfinished extraction has on disk, so that it need not be done again.

.extract/plan.json                     settings, splits, borders of blocks: written before any block
.extract/windows/SPLIT/00000.parquet   windows of a shard of rows, until the plan is made
.extract/done/SPLIT/00000.parquet      one per finished block: its logits, its line of the manifest, and its
                                       moments if it holds training rows
.extract/tries/SPLIT/00000             where workers began this block after others had died
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from bv_search.document import Mismatch
from bv_search.errors import BvError, OutputError, StoreError
from bv_search.extract.job import WORK, BlockTask
from bv_search.extract.plan import PLAN_FILE, Plan, read_plan
from bv_search.extract.settings import differences
from bv_search.store.folder import Folder
from bv_search.store.index import LOGITS_SCHEMA, logits_table, table_bytes
from bv_search.store.layout import MANIFEST
from bv_search.store.manifest import AnyBlock, BlockEntry, read_block
from bv_search.store.statistics import Moments
from bv_search.tasks.row import Role

ENTRY, MOMENTS = b"entry", b"moments"
TRIES = f"{WORK}/tries"
MOST_TRIES = 2


def refuse_other_things(folder: Folder) -> None:
    """A folder that holds something that is neither a store nor an extraction stays untouched."""
    if folder.exists(MANIFEST) or folder.exists(WORK):
        return
    found = [name for name in folder.top() if not name.startswith(".extract")]
    if found:
        raise OutputError(
            "already holds something else",
            where=folder.url,
            expected="a new or empty folder, or an extraction to go on with",
            found=", ".join(found[:4]),
            do="choose another --out",
        )


def read_unfinished(folder: Folder) -> Plan | None:
    """The plan of an extraction that was interrupted after it was made."""
    if not folder.exists(PLAN_FILE):
        return None
    where = f"{folder.url}/{PLAN_FILE}"
    try:
        return read_plan(json.loads(folder.read(PLAN_FILE)), where)
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise StoreError(
            "is damaged", where=where, found=error, do="delete the folder and start again"
        ) from error


def write_plan(folder: Folder, plan: Plan) -> None:
    folder.write(PLAN_FILE, json.dumps(plan.to_json(), indent=1).encode())
    folder.delete(f"{WORK}/windows")


def refuse_changes(ours: dict[str, Any], theirs: dict[str, Any], folder: Folder, what: str) -> None:
    """One folder cannot hold two different stores."""
    changed = differences(ours, theirs)
    if changed:
        raise OutputError(
            f"holds {what} with other settings",
            where=folder.url,
            found="; ".join(changed[:4]) + (f"; and {len(changed) - 4} more" if len(changed) > 4 else ""),
            do="choose another --out, or delete that one",
        )


def done_file(split: str, number: int) -> str:
    return f"{WORK}/done/{split}/{number:05d}.parquet"


@dataclass(frozen=True, kw_only=True)
class Made:
    """What encoding a block gives."""

    entry: AnyBlock  # its line of the manifest
    logits: Sequence[np.ndarray] | None  # the encoder's own, if it has any
    moments: Moments | None  # of training rows


def record_block(folder: Folder, task: BlockTask, ids: pa.ChunkedArray, made: Made) -> None:
    """From here on this block need not be encoded again."""
    logits = [np.empty(0, np.float32)] * len(ids) if made.logits is None else made.logits
    metadata = {ENTRY: json.dumps(asdict(made.entry)).encode()}
    if made.moments is not None:
        metadata[MOMENTS] = made.moments.to_bytes()
    table = logits_table(ids, logits).replace_schema_metadata(metadata)
    folder.write(done_file(task.split, task.number), table_bytes(table))


def refuse_another_try(folder: Folder, task: BlockTask, machine: str, machines: Collection[str]) -> None:
    """For a worker that took a dead one's place: it may be the block that kills them.

    Of tries on machines that are gone the block is not to blame.
    """
    file = f"{TRIES}/{task.split}/{task.number:05d}"
    noted = folder.read(file).decode().split() if folder.exists(file) else []
    tries = [each for each in noted if each in machines]
    if len(tries) == MOST_TRIES:
        raise BvError(
            "the processes that encode this block keep dying",
            where=f"{folder.url}, {task.split}, block {task.number}",
            found=f"{len(tries) + 1} ended by the system",
            do="if memory was short, give fewer --workers or less --batch-tokens; the same command goes on",
        )
    folder.write(file, "\n".join([*tries, machine]).encode())


def forget_tries(folder: Folder) -> None:
    folder.delete(TRIES)


def read_entry(folder: Folder, task: BlockTask) -> AnyBlock | None:
    """The manifest's line for a finished block, or None when it has to be encoded."""
    if not folder.exists(done_file(task.split, task.number)):
        return None
    try:
        metadata = _read_metadata(folder, task.split, task.number)
        entry = read_block(json.loads(metadata.get(ENTRY, b"null")))
    except (pa.ArrowException, OSError, json.JSONDecodeError, Mismatch):
        return None
    if isinstance(entry, BlockEntry) and folder.size(entry.file) != entry.size:
        return None
    return entry if task.role != Role.TRAIN or MOMENTS in metadata else None


def read_moments(folder: Folder, split: str, number: int) -> Moments:
    return Moments.from_bytes(_read_metadata(folder, split, number)[MOMENTS])


def _read_metadata(folder: Folder, split: str, number: int) -> dict[bytes, bytes]:
    schema = pq.read_schema(pa.BufferReader(folder.read(done_file(split, number))))
    return schema.metadata or {}


def read_logits(folder: Folder, split: str, number: int) -> pa.Table:
    return pq.read_table(pa.BufferReader(folder.read(done_file(split, number)))).cast(LOGITS_SCHEMA)
