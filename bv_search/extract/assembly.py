"""What is put together from finished blocks: the encoder's own logits and their score, and statistics."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from bv_search.extract.job import ExtractJob
from bv_search.extract.resume import read_logits, read_moments
from bv_search.store.index import INDEX_SCHEMA, LOGITS_SCHEMA, list_arrays, read_columns, table_bytes
from bv_search.store.layout import encoder_file
from bv_search.store.manifest import FileEntry, Manifest, SplitEntry
from bv_search.store.statistics import Moments
from bv_search.store.store import Store
from bv_search.store.writer import write_file, write_statistics
from bv_search.tasks.row import Role
from bv_search.tasks.window import SCORING


@dataclass(frozen=True, kw_only=True)
class RoleScore:
    score: float
    metrics: dict[str, float]


def gather_logits(job: ExtractJob, split: str, blocks: int) -> FileEntry:
    """Write the logits of a split, from the records of its finished blocks."""
    tables = [read_logits(job.folder, split, number) for number in range(blocks)]
    return write_file(job.folder, encoder_file(split), table_bytes(pa.concat_tables(tables)))


def score_role(job: ExtractJob, files: Sequence[tuple[FileEntry, FileEntry]]) -> RoleScore:
    """How well the encoder's own predictions do on a role, given the index and the logits of its splits."""
    folder, task = job.folder, job.task
    tables, flat = [], []
    for index, logits in files:
        tables.append(read_columns(folder.local(index.file, index.digest), INDEX_SCHEMA, SCORING))
        found = read_columns(folder.local(logits.file, logits.digest), LOGITS_SCHEMA)
        flat += list_arrays(found["logits"])
    evaluation = task.evaluate(pa.concat_tables(tables), task.unflattened(flat))
    return RoleScore(score=evaluation.score, metrics=evaluation.metrics)


def gather_statistics(job: ExtractJob, splits: Mapping[str, SplitEntry]) -> FileEntry:
    """From the records of blocks that are finished."""
    moments = (
        read_moments(job.folder, name, number)
        for name, split in splits.items()
        if split.role == Role.TRAIN
        for number in range(len(split.blocks))
    )
    return write_statistics(job.folder, moments, job.settings.dtype)


def measure_statistics(job: ExtractJob, manifest: Manifest) -> FileEntry:
    """From the blocks of a store that keeps them, one in memory at a time."""
    store = Store(job.folder, manifest, memory=manifest.largest_block)
    moments = (
        Moments.of(block.hidden_LTH, manifest.dtype)
        for split in store.splits(Role.TRAIN)
        for block in split.blocks()
    )
    return write_statistics(job.folder, moments, manifest.dtype)
