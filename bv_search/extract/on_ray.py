"""The steps of extraction as Ray Data pipelines: tasks tokenise, a pool of actors encodes and writes."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np
import ray
from ray.data import ActorPoolStrategy, DataContext, Dataset

from bv_search.errors import BvError
from bv_search.extract.encode import BlockEncoder
from bv_search.extract.job import BlockTask, Job, Shard
from bv_search.extract.survey import Hardware, survey_hardware
from bv_search.extract.tokenise import tokenise
from bv_search.store.manifest import BlockEntry
from bv_search.store.strict import decode

P = ParamSpec("P")
R = TypeVar("R")
Rows = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Pool:
    """How many processes encode, and what each of them takes of the cluster."""

    workers: int
    threads: int
    cpus: float
    gpus: float


def plan_pool(resources: Mapping[str, float], workers: int | None, threads: int | None) -> Pool:
    """One worker per GPU; without any, one per pair of CPUs. More than that share what there is."""
    cpus, gpus = int(resources.get("CPU", 1)), int(resources.get("GPU", 0))
    count = workers or gpus or max(1, cpus // 2)
    of_each = threads or max(1, cpus // count)
    return Pool(
        workers=count,
        threads=of_each,
        cpus=min(float(of_each), cpus / count),
        gpus=min(1.0, gpus / count) if gpus else 0.0,
    )


class OnRay:
    """Inside a `ray_session`."""

    def __init__(self, workers: int | None = None, threads: int | None = None) -> None:
        self.pool = plan_pool(ray.cluster_resources(), workers, threads)
        self.threads = self.pool.threads
        context = DataContext.get_current()
        context.enable_progress_bars = False
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        # a block that failed for a reason of the user's fails again: say so at once
        context.actor_task_retry_on_errors = False

    def hardware(self) -> Hardware:
        with _own_errors():
            remote = ray.remote(num_cpus=1, num_gpus=self.pool.gpus, max_retries=0)(survey_hardware)
            found: Hardware = ray.get(remote.remote())
            return found

    def call(self, step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        with _own_errors():
            remote = ray.remote(num_cpus=1, max_retries=0)(step)
            result: R = ray.get(remote.remote(*args, **kwargs))
            return result

    def tokenise(self, job: Job, shards: Sequence[Shard]) -> Iterator[Shard]:
        def step(row: dict[str, Any]) -> dict[str, Any]:
            return asdict(tokenise(job, Shard(**row)))

        rows = [asdict(shard) for shard in shards]
        for row in _rows(_dataset(rows).map(step, num_cpus=1)):
            yield Shard(**row)

    def encode(self, job: Job, tasks: Sequence[BlockTask]) -> Iterator[tuple[BlockTask, BlockEntry]]:
        rows = _dataset([asdict(task) for task in tasks]).map_batches(
            _Encode,
            fn_constructor_args=(job,),
            batch_size=1,
            compute=ActorPoolStrategy(size=min(self.pool.workers, len(tasks))),
            num_cpus=self.pool.cpus,
            num_gpus=self.pool.gpus or None,
        )
        for row in _rows(rows):
            entry = decode(BlockEntry, json.loads(row.pop("entry")))
            yield BlockTask(**row), entry


class _Encode:
    """The actor: it keeps the encoder, writes blocks itself and returns lines of the manifest."""

    def __init__(self, job: Job) -> None:
        self._encoder = BlockEncoder(job)

    def __call__(self, batch: Rows) -> Rows:
        tasks = [
            BlockTask(split=str(split), number=int(number), index_digest=str(digest))
            for split, number, digest in zip(
                batch["split"], batch["number"], batch["index_digest"], strict=True
            )
        ]
        entries = [json.dumps(asdict(self._encoder.encode(task))) for task in tasks]
        return {**batch, "entry": np.array(entries, dtype=object)}


def _dataset(rows: list[dict[str, Any]]) -> Dataset:
    """One row per block of Ray Data, so that the next free worker takes the next row."""
    return ray.data.from_items(rows, override_num_blocks=max(len(rows), 1))


def _rows(dataset: Dataset) -> Iterator[dict[str, Any]]:
    with _own_errors():
        yield from dataset.iter_rows()


class _own_errors:  # noqa: N801
    """An error of ours that comes back wrapped in Ray's is raised as it was."""

    def __enter__(self) -> None: ...

    def __exit__(self, _: object, error: BaseException | None, __: object) -> None:
        seen: set[int] = set()
        while error is not None and id(error) not in seen:
            seen.add(id(error))
            cause = getattr(error, "cause", None)
            for found in (error, cause):
                if isinstance(found, BvError) and not hasattr(found, "cause"):
                    raise found from None
            error = cause if isinstance(cause, BaseException) else error.__cause__ or error.__context__
