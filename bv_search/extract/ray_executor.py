"""The steps of extraction as Ray Data pipelines: tasks tokenise, a pool of actors encodes and writes."""

import json
import logging
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil
from typing import Any, ParamSpec, TypeVar

import ray
from ray.data import ActorPoolStrategy, DataContext, Dataset, ExecutionResources
from ray.exceptions import NodeDiedError

from bv_search import errors
from bv_search.autoscaler import find_growth, waiting
from bv_search.cluster import machines, result_of
from bv_search.errors import BvError
from bv_search.extract.encode import BlockEncoder
from bv_search.extract.job import BlockTask, ExtractJob, Shard
from bv_search.extract.plan import tokenise
from bv_search.extract.resume import forget_tries, refuse_another_try
from bv_search.extract.settings import Hardware, survey_hardware
from bv_search.store.layout import WORKER_BYTES
from bv_search.store.manifest import AnyBlock, read_block

P = ParamSpec("P")
R = TypeVar("R")
WEIGHT_BYTES = 4
PIPELINE = ("iter_threaded", "StreamingExecutor")  # threads of Ray Data; each ends with the block it is at
PATIENCE_SECONDS = 10.0
Row = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class WorkerPlan:
    """How many processes encode, and what each of them takes of the cluster."""

    workers: int
    threads: int
    cpus: float
    gpus: float
    memory: int = 0  # bytes that Ray keeps free for each; 0: as asked for, whatever there is


def worker_bytes(parameters: int) -> int:
    """What a worker on a CPU takes at most: weights, which stand twice while they load, and its work."""
    return 2 * WEIGHT_BYTES * parameters + WORKER_BYTES


def plan_workers(
    nodes: Sequence[Mapping[str, float]], need: int, workers: int | None, threads: int | None
) -> WorkerPlan:
    """One worker per GPU; without any, one per CPU of every node, as far as its memory goes.

    `nodes` are Ray's resources, also of nodes to come; their memory is what Ray found free when it started,
    or was told then. Of one to come it may not be known: it gets one worker.
    """
    cpus, gpus = (int(sum(node.get(name, 0) for node in nodes)) for name in ("CPU", "GPU"))
    if workers is None and not gpus:
        return _plan_on_cpus(nodes, max(cpus, 1), need, threads)
    count = workers or gpus
    return _worker_plan(count, max(cpus, 1), threads, gpus=min(1.0, gpus / count))


def _worker_plan(
    count: int, cpus: int, threads: int | None, *, gpus: float = 0.0, memory: int = 0
) -> WorkerPlan:
    of_each = threads or max(1, cpus // count)
    return WorkerPlan(
        workers=count, threads=of_each, cpus=min(float(of_each), cpus / count), gpus=gpus, memory=memory
    )


def _plan_on_cpus(
    nodes: Sequence[Mapping[str, float]], cpus: int, need: int, threads: int | None
) -> WorkerPlan:
    """Two processes of one thread encoded 20.2 k tokens/s where one process of two encoded 11.8 k."""
    known = all("memory" in node for node in nodes if node.get("CPU"))
    room = [(int(node.get("CPU", 0)), int(node.get("memory", need) // need)) for node in nodes]
    fitting = [(cpus, min(cpus // (threads or 1), most)) for cpus, most in room]
    places = [(cpus, count) for cpus, count in fitting if count]
    if not places:
        return _worker_plan(1, max(cpus for cpus, _ in room), threads)
    share = min(cpus // count for cpus, count in places)  # or some node could not hold its workers
    of_each = threads or share
    workers = sum(count for _, count in places)
    return WorkerPlan(
        workers=workers, threads=of_each, cpus=float(of_each), gpus=0.0, memory=need if known else 0
    )


class RayExecutor:
    """Inside a `ray_session`. Machines may come and go: what a lost one was at is done once more."""

    def __init__(
        self,
        parameters: int,
        workers: int | None = None,
        threads: int | None = None,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        there = machines()
        growth = find_growth(there)
        self.plan = plan_workers([*there, *growth.to_come], worker_bytes(parameters), workers, threads)
        self.threads = self.plan.threads
        needs = {"CPU": max(1.0, self.plan.cpus), "GPU": self.plan.gpus}  # of one: some steps take a core
        asked = f"{self.plan.workers} encoding worker(s)"
        if (sentence := waiting(asked, needs, there, growth.to_come)) is not None:
            tell(sentence)
        context = DataContext.get_current()
        context.enable_progress_bars = False
        context.execution_options.resource_limits = self._limits(is_elastic=growth.is_elastic)
        logging.getLogger("ray.data").setLevel(logging.ERROR)

    def _limits(self, *, is_elastic: bool) -> ExecutionResources:
        """Ray Data, busy, asks an autoscaler for more machines: for no more than the workers need."""
        if not is_elastic:
            return ExecutionResources.for_limits()
        cpu, gpu = max(1.0, self.plan.workers * self.plan.cpus), self.plan.workers * self.plan.gpus
        return ExecutionResources.for_limits(cpu=ceil(cpu), gpu=ceil(gpu))

    def hardware(self) -> Hardware:
        step = ray.remote(num_cpus=1, num_gpus=self.plan.gpus, max_retries=0)(survey_hardware)
        found: Hardware = _insist(step.remote)
        return found

    def call(self, step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
        remote = ray.remote(num_cpus=1, max_retries=0)(step).remote
        result: R = _insist(lambda: remote(*args, **kwargs))
        return result

    def tokenise(self, job: ExtractJob, shards: Sequence[Shard]) -> Iterator[Shard]:
        def step(row: Row) -> Row:
            return {"shard": json.dumps(asdict(tokenise(job, Shard(**row))))}

        rows = _dataset([asdict(shard) for shard in shards]).map(_Told(step), num_cpus=1)
        return (Shard(**json.loads(row["shard"])) for row in _listen(rows, "shard"))

    def encode(self, job: ExtractJob, tasks: Sequence[BlockTask]) -> Iterator[tuple[BlockTask, AnyBlock]]:
        forget_tries(job.folder)
        rows = _dataset([asdict(task) for task in tasks]).map(
            _Encode,
            fn_constructor_args=(job,),
            compute=ActorPoolStrategy(size=min(self.plan.workers, len(tasks))),
            num_cpus=self.plan.cpus,
            num_gpus=self.plan.gpus or None,
            memory=self.plan.memory or None,
        )
        for row in _listen(rows, "entry"):
            yield BlockTask(**json.loads(row["task"])), read_block(json.loads(row["entry"]))


def _insist(begin: Callable[[], Any]) -> Any:
    """What a step answers. One whose machine is lost is begun again; one whose process dies is not."""
    while True:
        try:
            return result_of(begin())
        except NodeDiedError:
            continue


class _Encode:
    """The actor: it keeps the encoder, writes blocks itself and returns lines of the manifest.

    Ray starts a dead one again and gives it the same blocks, as often as it dies.
    """

    def __init__(self, job: ExtractJob) -> None:
        self._encoder = BlockEncoder(job)
        self._restarted = ray.get_runtime_context().was_current_actor_reconstructed

    def __call__(self, row: Row) -> Row:
        return _Told(self._encode)(row)

    def _encode(self, row: Row) -> Row:
        task = BlockTask(**row)
        if self._restarted:
            machines = [node["NodeID"] for node in ray.nodes() if node["Alive"]]
            machine = ray.get_runtime_context().get_node_id()
            refuse_another_try(self._encoder.folder, task, machine, machines)
        entry = self._encoder.encode(task)
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


def _dataset(rows: list[Row]) -> Dataset:
    """One row per block of Ray Data, so that the next free worker takes the next row."""
    return ray.data.from_items(rows, override_num_blocks=max(len(rows), 1))


def _listen(dataset: Dataset, wanted: str) -> Iterator[Row]:
    before, refusal = set(threading.enumerate()), ""
    rows = iter(dataset.iter_rows())
    try:
        for row in rows:
            if refusal := row["refusal"]:
                break
            assert row[wanted], "a step says what it has done"
            yield row
    finally:
        rows.close()
        del rows  # the pipeline ends when nothing holds it any more
        _await_end(set(threading.enumerate()) - before)
    if refusal:
        raise error_from_json(refusal)


def _await_end(threads: Collection[threading.Thread]) -> None:
    """A pipeline that still runs when Ray is shut down ends this process without a word."""
    for thread in threads:
        if thread.name.startswith(PIPELINE):
            thread.join(timeout=PATIENCE_SECONDS)


FIELDS = ("where", "expected", "found", "do")


def error_to_json(error: BvError) -> str:
    told = {name: None if getattr(error, name) is None else str(getattr(error, name)) for name in FIELDS}
    return json.dumps({"kind": type(error).__name__, "what": error.what, **told})


def error_from_json(text: str) -> BvError:
    """The same kind of error, with the same line."""
    told = json.loads(text)
    kind = getattr(errors, told.pop("kind"), BvError)
    if kind is errors.UnknownName:  # its constructor makes the line itself
        kind = errors.UserError
    error: BvError = kind(told.pop("what"), **told)
    return error
