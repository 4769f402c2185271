"""Scan workers as Ray actors: who gets which call, and what comes back."""

import resource
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

import ray
from ray.exceptions import OutOfMemoryError, RayActorError, RayError, RayTaskError

from bv_search.cluster import machines
from bv_search.command import AUTO
from bv_search.errors import BvError, EncoderError, OutputError, StoreError
from bv_search.precision import FLOAT32, PrecisionChoice
from bv_search.scan.outcome import Finalist, Start
from bv_search.scan.trial import TrialConfig
from bv_search.source.choice import Rates
from bv_search.tune.workers import Call, EndedCall, LostCall, WorkerInput, WorkerShare

PATIENCE_SECONDS = 20.0  # before a wait for the cluster is told
ATTEMPTS = 3  # workers that die one after another while they start: the next ones would too


class ScanWorker:
    """Owns a GPU, or the cores that the search leaves it, from before the search starts to its end."""

    def __init__(self, inputs: WorkerInput, threads: int) -> None:
        self._inputs = inputs
        self._threads = threads

    def start(self) -> None:
        """Open what it reads: a failure has then its own line, which one of a constructor loses in Ray."""
        from bv_search.scan.scanner import Scanner  # with torch: slow, and needed only here

        inputs = self._inputs
        self._scanner = Scanner(
            inputs.store,
            source=inputs.source,
            memory=inputs.memory,
            folds=inputs.folds,
            precision=FLOAT32 if inputs.precision == AUTO else inputs.precision,
            threads=self._threads,
        )

    def machine(self) -> str:
        return str(ray.get_runtime_context().get_node_id())

    def capacity(self, configs: Sequence[TrialConfig], workers: int) -> int:
        return self._scanner.capacity(configs, workers)

    def rates(self) -> Rates:
        return self._scanner.rates()

    def choose_precision(self) -> PrecisionChoice:
        return self._scanner.choose_precision()

    def use_precision(self, precision: str) -> None:
        self._scanner.use_precision(precision)

    def peak_memory(self) -> int:
        """Bytes, pages of the store that it maps among them."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def segment(
        self,
        heads: Sequence[bytes | Start],
        stop: int,
        score: Collection[str],
        seconds: float | None,
    ) -> list[Any]:
        return self._scanner.segment(heads, stop, score=score, seconds=seconds)

    def solve(self, rungs: Sequence[Start]) -> list[Any]:
        return self._scanner.solve(rungs)

    def final(self, states: Sequence[bytes]) -> list[Any]:
        return self._scanner.final(states)

    def finale(self, finalists: Sequence[Finalist]) -> list[Any]:
        return self._scanner.finale(finalists)


@dataclass(kw_only=True)
class _StartingWorker:
    """A worker that may still wait for its share of the cluster."""

    worker: Any
    begun: float = field(default_factory=time.monotonic)
    told: bool = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.begun


class RayWorkers:
    """Scan workers, from entering to leaving: a call goes to an idle one; one that dies is replaced."""

    def __init__(self, inputs: WorkerInput, share: WorkerShare, tell: Callable[[str], None]) -> None:
        self._inputs = inputs
        self._threads = share.threads
        self._options = {"num_cpus": share.cpus, "num_gpus": share.gpus}
        self._tell = tell
        self.size = share.workers
        self._all: list[Any] = []
        self._starting: dict[Any, _StartingWorker] = {}
        self._failed_starts = 0  # in a row
        self._idle: deque[Any] = deque()
        self._running: dict[Any, tuple[Any, Call, float]] = {}
        self._busy: dict[str, float] = defaultdict(float)

    def capacity(self, configs: Sequence[TrialConfig]) -> int:
        """Heads that fit into the memory of every worker; all are idle."""
        machines = self._ask([worker.machine.remote() for worker in self._idle])
        beside = Counter(machines)
        each = [
            worker.capacity.remote(configs, beside[machine])
            for worker, machine in zip(self._idle, machines, strict=True)
        ]
        return int(min(self._ask(each)))

    def rates(self) -> Rates:
        """How fast the sources are, where one of the workers stands."""
        rates: Rates = self._ask(self._idle[0].rates.remote())
        return rates

    def settle_precision(self) -> PrecisionChoice:
        """One of them chooses for all, and for those that will replace them; all are idle."""
        choice: PrecisionChoice = self._ask(self._idle[0].choose_precision.remote())
        self._ask([worker.use_precision.remote(choice.precision) for worker in self._idle])
        self._inputs = replace(self._inputs, precision=choice.precision)
        return choice

    def peak_memory(self) -> int:
        """Bytes of the worker that took the most, of those that are left."""
        peaks = [0]
        for worker in self._idle:
            with suppress(RayError):
                peaks.append(ray.get(worker.peak_memory.remote()))
        return max(peaks)

    def busy(self) -> dict[str, float]:
        """Seconds that a worker was at each method, on average."""
        return {method: seconds / self.size for method, seconds in self._busy.items()}

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def running(self) -> list[Call]:
        return [call for _, call, _ in self._running.values()]

    def submit(self, call: Call) -> None:
        worker = self._idle.popleft()
        self._running[getattr(worker, call.method).remote(*call.arguments)] = (worker, call, time.monotonic())

    def finished(self, *, wait: float | None) -> list[EndedCall]:
        """Calls that ended since the last call: the first is waited for, with None as long as it takes.

        Empty if only a worker start was reported.
        """
        ready = self._await_first(wait=wait)
        self._take_in(ready)
        return [self._collect(reference) for reference in ready if reference in self._running]

    def __enter__(self) -> Self:
        """From then on they hold their share of the machine: nothing that starts later can take it."""
        try:
            for _ in range(self.size):
                self._start()
            while self._starting:
                self._take_in(self._await_first(wait=None))
        except BaseException:
            self._stop_all()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_all()

    def _stop_all(self) -> None:
        """All of them, and what they are at is lost."""
        while self._all:
            ray.kill(self._all.pop())

    def _await_first(self, *, wait: float | None) -> list[Any]:
        """Calls that have ended and workers that have started, as soon as there are any."""
        while waited := [*self._running, *self._starting]:
            patience = PATIENCE_SECONDS if wait is None and self._starting else wait
            first, _ = ray.wait(waited, num_returns=1, timeout=patience)
            self._tell_of_late_starts()
            if not first and not machines():
                raise BvError("no machine of the Ray cluster is left", do="resume the run once there is one")
            if first:
                return list(ray.wait(waited, num_returns=len(waited), timeout=0)[0])
            if wait is not None:
                break
        return []

    def _tell_of_late_starts(self) -> None:
        """Once of each: a lost machine may not come back."""
        late = [n for n in self._starting.values() if not n.told and n.seconds >= PATIENCE_SECONDS]
        if late:
            share = ", ".join(f"{n:g} {name.removeprefix('num_')}" for name, n in self._options.items() if n)
            self._tell(
                f"waiting for {len(late)} scan worker(s) of {share} each: the cluster is busy, or starting"
            )
        for starting in late:
            starting.told = True

    def _take_in(self, ready: Sequence[Any]) -> None:
        for reference in ready:
            if starting := self._starting.pop(reference, None):
                try:
                    self._ask(reference)
                except RayActorError:
                    self._failed_starts += 1
                    if self._failed_starts == ATTEMPTS:
                        raise
                    self._replace(starting.worker)
                else:
                    self._failed_starts = 0
                    self._idle.append(starting.worker)

    def _collect(self, reference: Any) -> EndedCall:
        worker, call, begun = self._running.pop(reference)
        try:
            result: list[Any] | LostCall = self._ask(reference)
            self._idle.append(worker)
        except RayTaskError as error:
            result = LostCall(reason=_lines(error)[-1], worker_died=False)
            self._idle.append(worker)
        except RayError as error:  # the worker is gone, or its machine, or Ray ended it to save memory
            self._replace(worker)
            result = LostCall(reason=f"its scan worker died: {_cause(error)}", worker_died=True)
        seconds = time.monotonic() - begun
        self._busy[call.method] += seconds
        return EndedCall(call=call, result=result, seconds=seconds)

    def _ask(self, references: Any) -> Any:
        """Their answers. What cannot be read is no fault of a head's, nor of the worker that says so."""
        try:
            return ray.get(references)
        except RayTaskError as error:
            if isinstance(error.cause, (StoreError, EncoderError, OutputError)):
                raise error.cause from None
            if isinstance(error.cause, OSError):
                raise StoreError(
                    "cannot be read", where=self._inputs.store, found=f"{error.cause!r} at a scan worker"
                ) from error
            raise

    def _replace(self, worker: Any) -> None:
        self._all.remove(worker)
        ray.kill(worker)  # one that only cannot be reached would keep its share
        self._start()

    def _start(self) -> None:
        worker = ray.remote(ScanWorker).options(**self._options).remote(self._inputs, self._threads)
        self._all.append(worker)
        self._starting[worker.start.remote()] = _StartingWorker(worker=worker)


def _lines(error: Exception) -> list[str]:
    return str(error).strip().splitlines()


def _cause(error: RayError) -> str:
    """The sentence that says it: a traceback or ids stand before it, a table of processes or advice after."""
    lines = _lines(error)
    return (lines[0] if isinstance(error, OutOfMemoryError) else lines[-1]).partition(". ")[0]
