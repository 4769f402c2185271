"""Rows → windows. Every process that tokenises reads the data for itself, and hands on only file names."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from bv_search.encoder.pretrained import read_config, read_tokenizer
from bv_search.encoder.source import find_source
from bv_search.extract.job import Job, Shard, Source
from bv_search.files import digest_json
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

    @property
    def names(self) -> list[str]:
        return [split.name for split in self.splits]


def survey_data(source: Source) -> DataFacts:
    dataset = _dataset(digest_json(source.task), source)
    splits = (SplitFacts(name=each.name, role=str(each.role), rows=len(each.rows)) for each in dataset.splits)
    return DataFacts(digest=dataset.digest, splits=tuple(splits))


class _Known:
    """A source that a cache can find again: its task is a dict, which has no hash of its own."""

    def __init__(self, key: str, source: Source) -> None:
        self.key, self.source = (key, source.data), source

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Known) and self.key == other.key


def _dataset(key: str, source: Source) -> Dataset:
    return _load(_Known(key, source))


@lru_cache(maxsize=1)
def _load(known: _Known) -> Dataset:
    return load_dataset(task_from_json(known.source.task), known.source.data)


@lru_cache(maxsize=1)
def _tokenizer(encoder: str) -> Any:
    source = find_source(encoder)
    return read_tokenizer(source, read_config(source))


def tokenise(job: Job, shard: Shard) -> Shard:
    """Write the windows of a shard of rows."""
    dataset = _dataset(digest_json(job.source.task), job.source)
    rows = dataset.split(shard.split).rows[shard.start : shard.stop]
    windows = job.task.windows(rows, _tokenizer(job.source.encoder))
    job.folder.write(shard.file, table_bytes(windows))
    return shard
