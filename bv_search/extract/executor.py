"""Where the steps of extraction run: in this process, or behind the same methods elsewhere."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import ParamSpec, Protocol, TypeVar

import torch

from bv_search.extract.encode import BlockEncoder
from bv_search.extract.job import BlockTask, ExtractJob, Shard
from bv_search.extract.plan import tokenise
from bv_search.extract.settings import Hardware, survey_hardware
from bv_search.store.manifest import AnyBlock

P = ParamSpec("P")
R = TypeVar("R")


class Executor(Protocol):
    """Runs the steps. What comes back is small: file names, and lines of the manifest."""

    @property
    def threads(self) -> int:
        """Of each process that encodes."""

    def hardware(self) -> Hardware:
        """What the encoding processes compute on."""

    def call(self, step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        """One step."""

    def tokenise(self, job: ExtractJob, shards: Sequence[Shard]) -> Iterable[Shard]:
        """Windows of every shard, in any order."""

    def encode(self, job: ExtractJob, tasks: Sequence[BlockTask]) -> Iterable[tuple[BlockTask, AnyBlock]]:
        """Every block, in any order."""


class LocalExecutor:
    def __init__(self, threads: int | None = None) -> None:
        self.threads = threads or torch.get_num_threads()

    def hardware(self) -> Hardware:
        return survey_hardware()

    def call(self, step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        return step(*args, **kwargs)

    def tokenise(self, job: ExtractJob, shards: Sequence[Shard]) -> Iterator[Shard]:
        return (tokenise(job, shard) for shard in shards)

    def encode(self, job: ExtractJob, tasks: Sequence[BlockTask]) -> Iterator[tuple[BlockTask, AnyBlock]]:
        encoder = BlockEncoder(job)
        return ((task, encoder.encode(task)) for task in tasks)
