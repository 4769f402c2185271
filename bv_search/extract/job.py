"""What every worker is told: plain values, so that it can stand on another machine."""

from dataclasses import dataclass
from typing import Any

from bv_search.extract.settings import StoreSettings
from bv_search.files import DISK, Disk
from bv_search.store.folder import Folder, open_folder
from bv_search.store.layout import BlockLimits
from bv_search.store.writer import BlockForm
from bv_search.tasks.registry import task_from_json
from bv_search.tasks.task import Task

WORK = ".extract"
ROWS_PER_SHARD = 2048


@dataclass(frozen=True, kw_only=True)
class ExtractInputs:
    """Where rows and encoder are, and which rows are read: the same on every machine."""

    task: dict[str, Any]
    encoder: str
    data: str | None


@dataclass(frozen=True, kw_only=True)
class ExtractJob:
    """One extraction under way. `token` says which extraction holds the lock."""

    inputs: ExtractInputs
    out: str
    settings: StoreSettings
    limits: BlockLimits
    threads: int
    token: str
    disk: Disk = DISK

    @property
    def folder(self) -> Folder:
        return open_folder(self.out, self.disk)

    @property
    def task(self) -> Task:
        return task_from_json(self.settings.task)

    @property
    def form(self) -> BlockForm:
        chosen = self.settings
        return BlockForm(layers=chosen.layers, width=chosen.width, dtype=chosen.dtype, format=chosen.format)


@dataclass(frozen=True, kw_only=True)
class Shard:
    """Rows [start, stop) of a split."""

    split: str
    number: int
    start: int
    stop: int

    @property
    def file(self) -> str:
        return f"{WORK}/windows/{self.split}/{self.number:05d}.parquet"


@dataclass(frozen=True, kw_only=True)
class BlockTask:
    """A block to encode, and which index says what its windows are."""

    split: str
    role: str
    number: int
    index_digest: str


def shards_of(split: str, rows: int) -> list[Shard]:
    starts = range(0, rows, ROWS_PER_SHARD)
    return [
        Shard(split=split, number=number, start=start, stop=min(start + ROWS_PER_SHARD, rows))
        for number, start in enumerate(starts)
    ]
