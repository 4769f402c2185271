"""What is decided before the first forward pass: windows, their seeded order, blocks, the index.

Every process that tokenises reads the data for itself, and hands on only file names.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from bv_search.document import Mismatch, decode
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.pretrained import read_config, read_tokenizer
from bv_search.encoder.stage import is_stage, read_seen
from bv_search.errors import DataError, StoreError
from bv_search.extract.job import WORK, BlockTask, ExtractInputs, ExtractJob, Shard
from bv_search.store.folder import Folder
from bv_search.store.index import index_bytes, place_windows, read_columns, windows_bytes
from bv_search.store.layout import ALL, BlockPlan, cut_blocks, index_file, plan_blocks, seeded_order
from bv_search.store.manifest import FileEntry
from bv_search.store.writer import write_file
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import task_from_json
from bv_search.tasks.row import Dataset
from bv_search.tasks.task import Placement
from bv_search.tasks.window import WINDOW_SCHEMA

PLAN_FILE = f"{WORK}/plan.json"


@dataclass(frozen=True, kw_only=True)
class SplitFacts:
    name: str
    role: str
    rows: int


@dataclass(frozen=True, kw_only=True)
class DataFacts:
    """What is known of the data once it has been read."""

    digest: str
    splits: tuple[SplitFacts, ...]
    doubts: tuple[str, ...]

    @property
    def names(self) -> list[str]:
        return [split.name for split in self.splits]


def survey_data(inputs: ExtractInputs) -> DataFacts:
    _load.cache_clear()  # of an earlier extraction of this process
    _tokenizer.cache_clear()
    dataset = _dataset(inputs)
    splits = (SplitFacts(name=each.name, role=str(each.role), rows=len(each.rows)) for each in dataset.splits)
    return DataFacts(digest=dataset.digest, splits=tuple(splits), doubts=dataset.doubts)


def _dataset(inputs: ExtractInputs) -> Dataset:
    return _load(json.dumps(inputs.task, sort_keys=True), inputs.data)


def _same_dataset(job: ExtractJob) -> Dataset:
    """As it was surveyed. This process may have read it for an earlier extraction."""
    if (dataset := _dataset(job.inputs)).digest != job.settings.data:
        _load.cache_clear()
        dataset = _dataset(job.inputs)
    if dataset.digest != job.settings.data:
        raise DataError(
            "has changed since the extraction began",
            where=job.inputs.data,
            expected=f"digest {job.settings.data}",
            found=dataset.digest,
            do="restore it, or extract it anew into another folder",
        )
    return dataset


@lru_cache(maxsize=1)
def _load(task: str, data: str | None) -> Dataset:
    return load_dataset(task_from_json(json.loads(task)), data)


@lru_cache(maxsize=1)
def _tokenizer(encoder: str) -> Any:
    location = locate_encoder(encoder)
    return read_tokenizer(location, read_config(location))


def tokenise(job: ExtractJob, shard: Shard) -> Shard:
    """Write the windows of a shard of rows."""
    dataset = _same_dataset(job)
    rows = dataset.split(shard.split).rows[shard.start : shard.stop]
    windows = job.task.windows(rows, _tokenizer(job.inputs.encoder))
    job.folder.write(shard.file, windows_bytes(windows))
    return shard


@dataclass(frozen=True, kw_only=True)
class SplitPlan:
    """A split before it is encoded."""

    role: str
    index: FileEntry
    blocks: tuple[BlockPlan, ...]
    encoded_tokens: int
    placement: Placement


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that is decided before the first forward pass. Equal settings give equal plans."""

    settings: dict[str, Any]
    splits: dict[str, SplitPlan]

    def tasks(self) -> Iterator[BlockTask]:
        """Every block, in the store's order."""
        for name, split in self.splits.items():
            for block in split.blocks:
                yield BlockTask(
                    split=name, role=split.role, number=block.number, index_digest=split.index.digest
                )

    @property
    def placement(self) -> Placement:
        """Of the answers of all splits."""
        return sum((split.placement for split in self.splits.values()), Placement())

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def read_plan(value: Any, where: object) -> Plan:
    try:
        return decode(Plan, value)
    except Mismatch as error:
        raise StoreError(
            "is damaged",
            where=where,
            expected=error.expected,
            found=error.path,
            do="delete the folder and start again",
        ) from error


def plan_split(
    job: ExtractJob, facts: SplitFacts, shards: Sequence[Shard], sizes: Sequence[int] | None
) -> SplitPlan:
    """Put the windows of a split in their seeded order, cut it into blocks and write its index.

    `sizes` are the windows of blocks that are there already: they stay, whatever the limits are now.
    """
    windows = _gather(job.folder, shards)
    if not job.task.labelled(windows):
        raise DataError(
            "some rows have no label", where=f"{job.inputs.data}, split {facts.name}", expected="labels"
        )
    windows = windows.take(pa.array(seeded_order(windows.num_rows, job.settings.seed, facts.name)))
    encoded = windows["length"].to_numpy()
    stored = encoded if job.settings.tokens == ALL else np.ones_like(encoded)
    if sizes is None:
        token_bytes = len(job.settings.layers) * job.settings.width * 2
        blocks = plan_blocks(stored, encoded, token_bytes, job.limits)
    else:
        blocks = cut_blocks(stored, encoded, sizes)
    index = place_windows(windows, blocks, stored, facts.role, _seen(job, windows))
    return SplitPlan(
        role=facts.role,
        index=write_file(job.folder, index_file(facts.name), index_bytes(index, blocks)),
        blocks=tuple(blocks),
        encoded_tokens=int(encoded.sum()),
        placement=job.task.placement(windows),
    )


def _gather(folder: Folder, shards: Sequence[Shard]) -> pa.Table:
    tables = [read_columns(pa.BufferReader(folder.read(shard.file)), WINDOW_SCHEMA) for shard in shards]
    return pa.concat_tables(tables).combine_chunks()


def _seen(job: ExtractJob, windows: pa.Table) -> np.ndarray:
    """Was the encoder trained on the row of each window?"""
    stage = locate_encoder(job.inputs.encoder).folder
    if not is_stage(stage):
        return np.zeros(windows.num_rows, bool)
    return np.isin(windows["key"].to_numpy(), read_seen(stage))
