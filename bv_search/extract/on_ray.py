"""The steps of extraction as Ray Data pipelines: tasks tokenise, a pool of actors encodes and writes."""

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ParamSpec, TypeVar

import ray
from ray.data import ActorPoolStrategy, DataContext, Dataset
from ray.exceptions import RayTaskError

from bv_search.errors import BvError
from bv_search.extract.encode import BlockEncoder
from bv_search.extract.job import BlockTask, Job, Shard
from bv_search.extract.refusal import error_from_json, error_to_json
from bv_search.extract.survey import Hardware, survey_hardware
from bv_search.extract.tokenise import tokenise
from bv_search.store.manifest import AnyBlock, read_block

P = ParamSpec("P")
R = TypeVar("R")
Row = dict[str, Any]


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

    def hardware(self) -> Hardware:
        step = ray.remote(num_cpus=1, num_gpus=self.pool.gpus, max_retries=0)(survey_hardware)
        found: Hardware = _get(step.remote())
        return found

    def call(self, step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        result: R = _get(ray.remote(num_cpus=1, max_retries=0)(step).remote(*args, **kwargs))
        return result

    def tokenise(self, job: Job, shards: Sequence[Shard]) -> Iterator[Shard]:
        def step(row: Row) -> Row:
            return {"shard": json.dumps(asdict(tokenise(job, Shard(**row))))}

        rows = _dataset([asdict(shard) for shard in shards]).map(_Told(step), num_cpus=1)
        return (Shard(**json.loads(row["shard"])) for row in _listen(rows, "shard"))

    def encode(self, job: Job, tasks: Sequence[BlockTask]) -> Iterator[tuple[BlockTask, AnyBlock]]:
        rows = _dataset([asdict(task) for task in tasks]).map(
            _Encode,
            fn_constructor_args=(job,),
            compute=ActorPoolStrategy(size=min(self.pool.workers, len(tasks))),
            num_cpus=self.pool.cpus,
            num_gpus=self.pool.gpus or None,
        )
        for row in _listen(rows, "entry"):
            yield BlockTask(**json.loads(row["task"])), read_block(json.loads(row["entry"]))


class _Encode:
    """The actor: it keeps the encoder, writes blocks itself and returns lines of the manifest."""

    def __init__(self, job: Job) -> None:
        self._encoder = BlockEncoder(job)

    def __call__(self, row: Row) -> Row:
        return _Told(self._encode)(row)

    def _encode(self, row: Row) -> Row:
        entry = self._encoder.encode(BlockTask(**row))
        return {"task": json.dumps(row), "entry": json.dumps(asdict(entry))}


class _Told:
    """A step whose refusals come back as rows: Ray Data would wrap them and log them at length."""

    def __init__(self, step: Callable[[Row], Row]) -> None:
        self._step = step

    def __call__(self, row: Row) -> Row:
        try:
            return {"refusal": "", **self._step(row)}
        except BvError as error:
            return {"refusal": error_to_json(error), **dict.fromkeys(("shard", "task", "entry"), "")}


def _get(reference: Any) -> Any:
    try:
        return ray.get(reference)
    except RayTaskError as error:
        if isinstance(error.cause, BvError):
            raise error.cause from None
        raise


def _dataset(rows: list[Row]) -> Dataset:
    """One row per block of Ray Data, so that the next free worker takes the next row."""
    return ray.data.from_items(rows, override_num_blocks=max(len(rows), 1))


def _listen(dataset: Dataset, wanted: str) -> Iterator[Row]:
    for row in dataset.iter_rows():
        if row["refusal"]:
            raise error_from_json(row["refusal"])
        assert row[wanted], "a step says what it has done"
        yield row
