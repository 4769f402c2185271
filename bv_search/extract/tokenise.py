"""Rows → windows. Every process that tokenises reads the data for itself, and hands on only file names."""

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bv_search.encoder.pretrained import read_config, read_tokenizer
from bv_search.encoder.source import find_source
from bv_search.extract.job import Job, Shard, Source
from bv_search.store.index import table_bytes
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import task_from_json
from bv_search.tasks.row import Dataset


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


def survey_data(source: Source) -> DataFacts:
    dataset = _dataset(source)
    splits = (SplitFacts(name=each.name, role=str(each.role), rows=len(each.rows)) for each in dataset.splits)
    return DataFacts(digest=dataset.digest, splits=tuple(splits), doubts=dataset.doubts)


def _dataset(source: Source) -> Dataset:
    return _load(json.dumps(source.task, sort_keys=True), source.data)


@lru_cache(maxsize=1)
def _load(task: str, data: str | None) -> Dataset:
    return load_dataset(task_from_json(json.loads(task)), data)


@lru_cache(maxsize=1)
def _tokenizer(encoder: str) -> Any:
    source = find_source(encoder)
    return read_tokenizer(source, read_config(source))


def tokenise(job: Job, shard: Shard) -> Shard:
    """Write the windows of a shard of rows."""
    dataset = _dataset(job.source)
    rows = dataset.split(shard.split).rows[shard.start : shard.stop]
    windows = job.task.windows(rows, _tokenizer(job.source.encoder))
    job.folder.write(shard.file, table_bytes(windows))
    return shard
