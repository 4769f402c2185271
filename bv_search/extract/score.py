"""The encoder's own logits of a split, put together from its blocks, and what they score."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from bv_search.extract.job import Job
from bv_search.extract.work import read_logits
from bv_search.store.index import INDEX_SCHEMA, LOGITS_SCHEMA, list_arrays, read_columns, table_bytes
from bv_search.store.layout import encoder_file
from bv_search.store.manifest import FileEntry
from bv_search.store.writer import write_file
from bv_search.tasks.task import Kind
from bv_search.tasks.window import SCORING


@dataclass(frozen=True, kw_only=True)
class RoleScore:
    score: float
    metrics: dict[str, float]


def gather_logits(job: Job, split: str, blocks: int) -> FileEntry:
    """Write the logits of a split, from the records of its finished blocks."""
    tables = [read_logits(job.folder, split, number) for number in range(blocks)]
    return write_file(job.folder, encoder_file(split), table_bytes(pa.concat_tables(tables)))


def score_role(job: Job, files: Sequence[tuple[FileEntry, FileEntry]]) -> RoleScore:
    """How well the encoder's own predictions do on a role, given the index and the logits of its splits."""
    folder, task = job.folder, job.task
    tables, flat = [], []
    for index, logits in files:
        tables.append(read_columns(folder.local(index.file, index.digest), INDEX_SCHEMA, SCORING))
        found = read_columns(folder.local(logits.file, logits.digest), LOGITS_SCHEMA)
        flat += list_arrays(found["logits"])
    shaped = [each.reshape(-1, 2) for each in flat] if task.kind is Kind.SPAN else flat
    evaluation = task.evaluate(pa.concat_tables(tables), shaped)
    return RoleScore(score=evaluation.score, metrics=evaluation.metrics)
