"""Scan workers as Ray actors: who gets which call, and what comes back."""

import resource
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

import ray
from ray.exceptions import ActorUnavailableError, OutOfMemoryError, RayActorError, RayError, RayTaskError

from bv_search.autoscaler import waiting
from bv_search.cluster import machines
from bv_search.command import AUTO
from bv_search.errors import BvError, EncoderError, OutputError, StoreError
from bv_search.precision import FLOAT32, PrecisionChoice
from bv_search.scan.outcome import Finalist, Start
from bv_search.scan.trial import TrialConfig
from bv_search.source.choice import Rates
from bv_search.store.store import Store
from bv_search.tune.workers import Call, EndedCall, LostCall, WorkerInput, WorkerShare

PATIENCE_SECONDS = 20.0  # before a wait for the cluster is told
ATTEMPTS = 3  # workers that die one after another while they start: the next ones would too
IDLE_SECONDS = 60.0  # without work, before a cluster that can shrink gets a worker's machine back
NODE_DIED = "its node has died"  # what Ray says of an actor on a machine that is lost


class ScanWorker:
    """Owns a GPU, or the cores that the search leaves it, from before the search starts to its end."""

    def __init__(self, inputs: WorkerInput, threads: int) -> None:
        self._inputs = inputs
        self._threads = threads

    def start(self) -> str:
        """Open what it reads: a failure has then its own line, which one of a constructor loses in Ray.

        Says on which machine it stands.
        """
        from bv_search.scan.scanner import Scanner  # with torch: slow, and needed only here

        inputs = self._inputs
        self._scanner = Scanner(
            Store.open(inputs.store, memory=inputs.memory, cache=inputs.cache),
            source=inputs.source,
            memory=inputs.memory,
            folds=inputs.folds,
            precision=FLOAT32 if inputs.precision == AUTO else inputs.precision,
            threads=self._threads,
        )
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

    def trouble(self) -> str | None:
        """What its store had trouble with, and did without."""
        return self._scanner.trouble

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


@dataclass(kw_only=True, eq=False)
class _Member:
    """A scan worker as the driver knows it. Until it has started it may still wait for its share."""

    actor: Any
    since: float = field(default_factory=time.monotonic)  # it is asked for, or has nothing to do
    machine: str | None = None
    started: float | None = None
    told: bool = False

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.since


class RayWorkers:
    """Scan workers, from entering to leaving: a call goes to an idle one; one that dies is replaced.

    Where machines come and go, the first is enough to begin with. The others are taken in as they come, and
    given back when there is no work for them.
    """

    def __init__(self, inputs: WorkerInput, share: WorkerShare, tell: Callable[[str], None]) -> None:
        self._inputs = inputs
        self._share = share
        self._options = {"num_cpus": share.cpus, "num_gpus": share.gpus}
        self._tell = tell
        self.size = share.workers
        self._all: list[_Member] = []
        self._starting: dict[Any, _Member] = {}
        self._failed_starts = 0  # in a row
        self._idle: list[_Member] = []
        self._running: dict[Any, tuple[_Member, Call, float]] = {}
        self._needed = time.monotonic()  # when calls waited last
        self._busy: dict[str, float] = defaultdict(float)
        self._served = 0.0  # seconds of all workers that are gone
        self._first: float | None = None  # when there was one
        self._last = 0.0  # and when one went

    def capacity(self, configs: Sequence[TrialConfig]) -> int:
        """Heads that fit into the memory of every worker that is there; all are idle."""
        beside = self._neighbours()
        each = [worker.actor.capacity.remote(configs, beside[str(worker.machine)]) for worker in self._idle]
        return int(min(self._ask(each)))

    def _neighbours(self) -> Counter[str]:
        """Workers of each machine, with those that may still come there."""
        there = Counter(str(worker.machine) for worker in self._idle)
        if self._share.is_elastic:
            for node in ray.nodes():
                fitting = (int(node["Resources"].get("CPU", 0) / self._share.cpus), self.size)
                there[node["NodeID"]] = max(there[node["NodeID"]], min(fitting))
        return there

    def rates(self) -> Rates:
        """How fast the sources are, where one of the workers stands."""
        rates: Rates = self._ask(self._idle[0].actor.rates.remote())
        return rates

    def settle_precision(self) -> PrecisionChoice:
        """One of them chooses for all, and for those that will come; none has a call."""
        choice: PrecisionChoice = self._ask(self._idle[0].actor.choose_precision.remote())
        for worker in self._all:  # one that is starting hears of it when it has
            worker.actor.use_precision.remote(choice.precision)
        self._inputs = replace(self._inputs, precision=choice.precision)
        return choice

    def peak_memory(self) -> int:
        """Bytes of the worker that took the most, of those that are left."""
        peaks = [0]
        for worker in self._idle:
            with suppress(RayError):
                peaks.append(ray.get(worker.actor.peak_memory.remote()))
        return max(peaks)

    def troubles(self) -> list[str]:
        """Each once, of the workers that are left: they have no terminal to say it on."""
        found: set[str] = set()
        for worker in self._idle:
            with suppress(RayError):
                found |= {ray.get(worker.actor.trouble.remote())} - {None}
        return sorted(found)

    def busy(self) -> dict[str, float]:
        """Seconds that a worker was at each method, on average over those that were there; all are gone."""
        there = self._served / max(self._last - (self._first or 0.0), 1e-9)
        return {method: seconds / there for method, seconds in self._busy.items()}

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def running(self) -> list[Call]:
        return [call for _, call, _ in self._running.values()]

    def expect(self, calls: int) -> None:
        """So many wait for an idle worker: there shall be one for each, as far as the size goes."""
        if calls:
            self._needed = time.monotonic()
        for _ in range(min(self.size, len(self._running) + calls) - len(self._all)):
            self._start()

    def submit(self, call: Call) -> None:
        worker = self._idle.pop(0)
        reference = getattr(worker.actor, call.method).remote(*call.arguments)
        self._running[reference] = (worker, call, time.monotonic())

    def finished(self, *, wait: float | None) -> list[EndedCall]:
        """Calls that ended since the last call: the first is waited for, with None as long as it takes.

        Empty if only a worker start was reported.
        """
        ready = self._await_first(wait=wait)
        self._take_in(ready)
        ended = [self._collect(reference) for reference in ready if reference in self._running]
        self._give_back()
        return ended

    def __enter__(self) -> Self:
        """From then on they hold their share of the machine: nothing that starts later can take it."""
        try:
            self._tell_of_wait()
            for _ in range(self.size):
                self._start()
            while self._starting and not (self._share.is_elastic and self._idle):
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
            self._dismiss(self._all[-1])

    def _give_back(self) -> None:
        """What has had no work for long, where its machine may then go. One always stays."""
        if not self._share.is_elastic or time.monotonic() - self._needed < IDLE_SECONDS:
            return
        spare = [
            worker for worker in [*self._starting.values(), *self._idle] if worker.seconds >= IDLE_SECONDS
        ]
        spare = spare[: len(self._all) - 1]
        for worker in spare:
            self._dismiss(worker)
        if given := sum(worker.started is not None for worker in spare):
            self._tell(f"{given} scan worker(s) had nothing to do: the cluster gets their share back")

    def _tell_of_wait(self) -> None:
        """Where no machine that is there has room for a worker."""
        needs = {"CPU": self._share.cpus, "GPU": self._share.gpus}
        asked = f"{self.size} scan worker(s)"
        if (sentence := waiting(asked, needs, machines(), self._share.to_come)) is not None:
            self._tell(sentence)

    @property
    def _each(self) -> str:
        """What one reserves."""
        return ", ".join(f"{n:g} {name.removeprefix('num_')}" for name, n in self._options.items() if n)

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
        """Once of each: a lost machine may not come back. Of those that come and go, while there is none."""
        late = [n for n in self._starting.values() if not n.told and n.seconds >= PATIENCE_SECONDS]
        if late and not (self._share.is_elastic and len(self._all) > len(self._starting)):
            self._tell(
                f"waiting for {len(late)} scan worker(s) of {self._each} each: "
                "the cluster is busy, or starting"
            )
            for worker in late:
                worker.told = True

    def _take_in(self, ready: Sequence[Any]) -> None:
        for reference in ready:
            if worker := self._starting.pop(reference, None):
                try:
                    worker.machine = self._ask(reference)
                except RayActorError as error:
                    self._failed_starts += not self._is_machine_lost(worker, error)
                    if self._failed_starts == ATTEMPTS:
                        raise BvError(
                            "scan workers die while they start",
                            found=_cause(error),
                            do="give fewer --workers, or machines with more memory, and resume the run",
                        ) from error
                    self._replace(worker)
                else:
                    self._failed_starts = 0
                    self._welcome(worker)

    def _welcome(self, worker: _Member) -> None:
        worker.since = worker.started = time.monotonic()
        self._idle.append(worker)
        if self._first is None:
            self._first = worker.started
        elif self._share.is_elastic:
            self._tell(f"{len(self._all) - len(self._starting)} of {self.size} scan workers are there")

    def _collect(self, reference: Any) -> EndedCall:
        worker, call, begun = self._running.pop(reference)
        try:
            result: list[Any] | LostCall = self._ask(reference)
            self._rest(worker)
        except RayTaskError as error:
            result = LostCall(reason=_lines(error)[-1], worker_died=False)
            self._rest(worker)
        except RayError as error:  # the worker is gone, or its machine, or Ray ended it to save memory
            lost = self._is_machine_lost(worker, error)
            cause = "its scan worker's machine is gone" if lost else f"its scan worker died: {_cause(error)}"
            result = LostCall(reason=cause, worker_died=True, machine_lost=lost)
            self._replace(worker)
        seconds = time.monotonic() - begun
        self._busy[call.method] += seconds
        return EndedCall(call=call, result=result, seconds=seconds)

    def _rest(self, worker: _Member) -> None:
        worker.since = time.monotonic()
        self._idle.append(worker)

    def _is_machine_lost(self, worker: _Member, error: RayError) -> bool:
        """Or cannot be reached: of a process that died its machine tells at once."""
        if isinstance(error, ActorUnavailableError) or NODE_DIED in str(error):
            return True
        there = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        return worker.machine is not None and worker.machine not in there

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

    def _replace(self, worker: _Member) -> None:
        self._dismiss(worker)
        self._start()

    def _dismiss(self, worker: _Member) -> None:
        self._all.remove(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        self._starting = {start: each for start, each in self._starting.items() if each is not worker}
        if worker.started is not None:
            self._last = time.monotonic()
            self._served += self._last - worker.started
        ray.kill(worker.actor)  # one that only cannot be reached would keep its share

    def _start(self) -> None:
        options, threads = self._options, self._share.threads
        worker = _Member(actor=ray.remote(ScanWorker).options(**options).remote(self._inputs, threads))
        self._all.append(worker)
        self._starting[worker.actor.start.remote()] = worker


def _lines(error: Exception) -> list[str]:
    return str(error).strip().splitlines()


def _cause(error: RayError) -> str:
    """The sentence that says it: a traceback or ids stand before it, a table of processes or advice after."""
    lines = _lines(error)
    return (lines[0] if isinstance(error, OutOfMemoryError) else lines[-1]).partition(". ")[0]
