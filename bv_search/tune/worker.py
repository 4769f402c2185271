"""The actor around a scanner, and the crew of them."""

import os
import resource
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import ray
from ray.exceptions import OutOfMemoryError, RayError, RayTaskError

from bv_search.scan.trial import TrialConfig
from bv_search.source.choice import Rates

PATIENCE_SECONDS = 20.0  # before a wait for the cluster is told


@dataclass(frozen=True, kw_only=True)
class Share:
    """What the scan workers reserve of a cluster."""

    workers: int
    cpus: float  # each, reserved
    threads: int  # each, used
    gpus: int  # each

    @classmethod
    def of_cluster(cls, machines: Sequence[Mapping[str, float]], workers: int | None) -> "Share":
        """A worker per GPU, or one, with as many cores each as fit on the machines.

        A core is left over for trials, where there are two. More workers than cores reserve none: Ray waits
        without end for what no machine has.
        """
        gpus = sum(int(machine.get("GPU", 0)) for machine in machines)
        count = workers or gpus or 1
        on_gpus = gpus >= count
        each = _cores_of_each(machines, count, on_gpus=on_gpus)
        return cls(
            workers=count,
            cpus=each - 1 if each > 1 else each / 2,
            threads=max(1, each),
            gpus=int(on_gpus),
        )


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What scan workers read."""

    store: str
    source: str  # store or live
    window: int | None  # bytes of blocks that each keeps in memory


def _cores_of_each(machines: Sequence[Mapping[str, float]], workers: int, *, on_gpus: bool) -> int:
    """The most cores with which so many workers fit on the machines; 0 if they do not with one."""

    def fitting(machine: Mapping[str, float], cores: int) -> int:
        by_cores = int(machine.get("CPU", 0)) // cores
        return min(by_cores, int(machine.get("GPU", 0))) if on_gpus else by_cores

    most = int(max(machine.get("CPU", 0) for machine in machines))
    enough = (n for n in range(most, 0, -1) if sum(fitting(machine, n) for machine in machines) >= workers)
    return next(enough, 0)


class ScanWorker:
    """Owns a GPU, or the cores that the search leaves it, from before the search starts to its end."""

    def __init__(self, reading: Reading, threads: int) -> None:
        from bv_search.scan.scanner import Scanner  # with torch: slow, and needed only here

        self._scanner = Scanner(reading.store, source=reading.source, window=reading.window, threads=threads)

    def capacity(self, configs: Sequence[TrialConfig]) -> int:
        return self._scanner.capacity([config.head for config in configs])

    def rates(self) -> Rates:
        return self._scanner.rates()

    def process(self) -> int:
        return os.getpid()

    def peak_memory(self) -> int:
        """Bytes, pages of the store that it maps among them."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def segment(
        self, heads: Sequence[bytes | tuple[str, TrialConfig]], stop: int, score: Collection[str]
    ) -> list[Any]:
        from bv_search.scan.scanner import Start

        starts = [h if isinstance(h, bytes) else Start(trial=h[0], config=h[1]) for h in heads]
        return self._scanner.segment(starts, stop, score=score)

    def final(self, states: Sequence[bytes]) -> list[Any]:
        return self._scanner.final(states)


@dataclass(frozen=True, kw_only=True)
class Lost:
    """Why a job has no result."""

    reason: str
    worker_died: bool


@dataclass(frozen=True, kw_only=True)
class Job:
    method: str
    arguments: tuple[Any, ...]
    about: Any  # the caller's own name for it


@dataclass(frozen=True, kw_only=True)
class Ended:
    job: Job
    result: list[Any] | Lost
    seconds: float


class Crew:
    """Scan workers: a job goes to an idle one; one that dies is replaced."""

    def __init__(self, reading: Reading, share: Share, tell: Callable[[str], None]) -> None:
        self._reading = reading
        self._threads = share.threads
        self._options = {"num_cpus": share.cpus, "num_gpus": share.gpus}
        self._all = [self._hire() for _ in range(share.workers)]
        self._await_start(tell)
        self._idle = deque(self._all)
        self._running: dict[Any, tuple[Any, Job, float]] = {}

    def _await_start(self, tell: Callable[[str], None]) -> None:
        """From then on they hold their share of the machine: nothing that starts later can take it."""
        started = [worker.process.remote() for worker in self._all]
        _, missing = ray.wait(started, num_returns=len(started), timeout=PATIENCE_SECONDS)
        if missing:
            share = ", ".join(f"{n:g} {name.removeprefix('num_')}" for name, n in self._options.items() if n)
            tell(
                f"waiting for {len(missing)} scan worker(s) of {share} each: the cluster is busy, or starting"
            )
        ray.get(started)

    @property
    def size(self) -> int:
        return len(self._all)

    def processes(self) -> list[int]:
        """The workers' process ids."""
        return list(ray.get([worker.process.remote() for worker in self._all]))

    def capacity(self, configs: Sequence[TrialConfig]) -> int:
        """Heads that fit into the memory of every worker."""
        return int(min(ray.get([worker.capacity.remote(configs) for worker in self._all])))

    def rates(self) -> Rates:
        """How fast the sources are, where one of the workers stands."""
        rates: Rates = ray.get(self._all[0].rates.remote())
        return rates

    def peak_memory(self) -> int:
        """Bytes of the worker that took the most, of those that are left."""
        peaks = [0]
        for worker in self._all:
            with suppress(RayError):
                peaks.append(ray.get(worker.peak_memory.remote()))
        return max(peaks)

    @property
    def has_idle(self) -> bool:
        return bool(self._idle)

    @property
    def running(self) -> list[Job]:
        return [job for _, job, _ in self._running.values()]

    def submit(self, job: Job) -> None:
        worker = self._idle.popleft()
        self._running[getattr(worker, job.method).remote(*job.arguments)] = (worker, job, time.monotonic())

    def finished(self, *, wait: float | None) -> list[Ended]:
        """Jobs that ended since the last call; the first is waited for, with None as long as it takes."""
        if not self._running:
            return []
        first, _ = ray.wait(list(self._running), num_returns=1, timeout=wait)
        done = first and ray.wait(list(self._running), num_returns=len(self._running), timeout=0)[0]
        return [self._collect(reference) for reference in done]

    def dismiss(self) -> None:
        for worker in self._all:
            ray.kill(worker)

    def _collect(self, reference: Any) -> Ended:
        worker, job, begun = self._running.pop(reference)
        try:
            result: list[Any] | Lost = ray.get(reference)
        except RayTaskError as error:
            result = Lost(reason=_lines(error)[-1], worker_died=False)
        except RayError as error:  # the worker is gone, or its machine, or Ray ended it to save memory
            worker = self._replace(worker)
            result = Lost(reason=f"its scan worker died: {_cause(error)}", worker_died=True)
        self._idle.append(worker)
        return Ended(job=job, result=result, seconds=time.monotonic() - begun)

    def _replace(self, worker: Any) -> Any:
        self._all.remove(worker)
        ray.kill(worker)  # one that only cannot be reached would keep its share
        self._all.append(self._hire())
        return self._all[-1]

    def _hire(self) -> Any:
        return ray.remote(ScanWorker).options(**self._options).remote(self._reading, self._threads)


def _lines(error: Exception) -> list[str]:
    return str(error).strip().splitlines()


def _cause(error: RayError) -> str:
    """The sentence that says it: a traceback or ids stand before it, a table of processes or advice after."""
    lines = _lines(error)
    return (lines[0] if isinstance(error, OutOfMemoryError) else lines[-1]).partition(". ")[0]
