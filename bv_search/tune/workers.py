"""Scan workers as the core of a search sees them: their share of a cluster, calls, and what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bv_search.errors import UserError
from bv_search.scan.trial import TrialConfig

CROWD = 64
"""Workers that a core may be shared by: each is a process with torch in it."""

CROWDED = 0.0156
"""What each of these reserves of it: Ray counts in steps of 0.0001."""

Machine = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class WorkerInput:
    """What scan workers read."""

    store: str
    source: str  # store or live
    memory: int | None  # bytes of blocks that each keeps in memory
    cache: int | None  # bytes of a far store that a machine keeps on its disk
    folds: int  # copies of each head
    precision: str  # of wide products; auto: until one of them has chosen


@dataclass(frozen=True, kw_only=True)
class LostCall:
    """Why a call has no result."""

    reason: str
    worker_died: bool
    machine_lost: bool = False

    @property
    def charge(self) -> int:
        """How often the heads of the call are to blame: not for a machine that was lost."""
        return 0 if self.machine_lost else 1


@dataclass(frozen=True, kw_only=True)
class Call:
    method: str
    arguments: tuple[Any, ...]
    about: Any  # the caller's own name for it


@dataclass(frozen=True, kw_only=True)
class EndedCall:
    call: Call
    result: list[Any] | LostCall
    seconds: float


class Workers(Protocol):
    """A call goes to an idle worker. One that dies is replaced, and its call is lost.

    Work is divided by their `size`, however many of them are there: so what comes out does not depend on it.
    """

    size: int

    @property
    def idle(self) -> int: ...

    @property
    def running(self) -> list[Call]: ...

    def expect(self, calls: int) -> None:
        """So many wait for an idle worker."""

    def submit(self, call: Call) -> None: ...

    def finished(self, *, wait: float | None) -> list[EndedCall]:
        """Calls that ended since the last time: the first is waited for, with None as long as it takes."""

    def capacity(self, configs: Sequence[TrialConfig]) -> int:
        """Heads that fit into the memory of every worker; all are idle."""


@dataclass(frozen=True, kw_only=True)
class WorkerShare:
    """What the scan workers reserve of a cluster."""

    workers: int
    cpus: float  # each, reserved
    threads: int  # each, used
    gpus: int  # each
    to_come: tuple[Machine, ...] = ()  # that the cluster may still get
    is_elastic: bool = False  # machines come and go

    @classmethod
    def of_cluster(
        cls,
        machines: Sequence[Machine],
        workers: int | None,
        to_come: Sequence[Machine] = (),
        *,
        is_elastic: bool = False,
    ) -> "WorkerShare":
        """A worker per GPU, or one, with as many cores each as fit on the machines: those to come among them.

        Workers of a crowd, more than there are cores, reserve as little as fits: Ray waits without end for
        what no machine has.
        """
        every = [*machines, *to_come]
        gpus = sum(int(machine.get("GPU", 0)) for machine in every)
        count = workers or gpus or 1
        if count > gpus > 0:
            raise UserError("more --workers than GPUs", expected=f"at most {gpus}, one for each", found=count)
        most = CROWD * max(1, int(sum(machine.get("CPU", 0) for machine in every)))
        if count > most:
            expected = f"at most {most:,}, {CROWD} for each core"
            raise UserError(
                "more --workers than the machines can hold", expected=expected, found=f"{count:,}"
            )
        on_gpus = gpus > 0
        # one that nobody asked to be elsewhere begins on a machine that is there
        here = 0 if workers or on_gpus else _cores_of_each(machines, count, on_gpus=on_gpus)
        each = here or _cores_of_each(every, count, on_gpus=on_gpus)
        return cls(
            workers=count,
            cpus=float(each) or CROWDED,
            threads=max(1, each),
            gpus=int(on_gpus),
            to_come=tuple(to_come),
            is_elastic=is_elastic,
        )


def _cores_of_each(machines: Sequence[Machine], workers: int, *, on_gpus: bool) -> int:
    """The most cores with which so many workers fit on the machines; 0 if they do not with one."""

    def fitting(machine: Machine, cores: int) -> int:
        by_cores = int(machine.get("CPU", 0)) // cores
        return min(by_cores, int(machine.get("GPU", 0))) if on_gpus else by_cores

    most = int(max((machine.get("CPU", 0) for machine in machines), default=0))
    enough = (n for n in range(most, 0, -1) if sum(fitting(machine, n) for machine in machines) >= workers)
    return next(enough, 0)
