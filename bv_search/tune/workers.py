"""Scan workers as the core of a search sees them: their share of a cluster, calls, and what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bv_search.errors import UserError
from bv_search.scan.trial import TrialConfig

CROWD = 64
"""Workers that a core may be shared by: each is a process with torch in it."""


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
    """A call goes to an idle worker. One that dies is replaced, and its call is lost."""

    size: int

    @property
    def idle(self) -> int: ...

    @property
    def running(self) -> list[Call]: ...

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

    @classmethod
    def of_cluster(cls, machines: Sequence[Mapping[str, float]], workers: int | None) -> "WorkerShare":
        """A worker per GPU, or one, with as many cores each as fit on the machines.

        A core is left over for trials, where there are two. More workers than cores reserve none: Ray waits
        without end for what no machine has.
        """
        gpus = sum(int(machine.get("GPU", 0)) for machine in machines)
        count = workers or gpus or 1
        if count > gpus > 0:
            raise UserError("more --workers than GPUs", expected=f"at most {gpus}, one for each", found=count)
        most = CROWD * max(1, int(sum(machine.get("CPU", 0) for machine in machines)))
        if count > most:
            expected = f"at most {most:,}, {CROWD} for each core"
            raise UserError(
                "more --workers than the machines can hold", expected=expected, found=f"{count:,}"
            )
        on_gpus = gpus > 0
        each = _cores_of_each(machines, count, on_gpus=on_gpus)
        return cls(
            workers=count,
            cpus=each - 1 if each > 1 else each / 2,
            threads=max(1, each),
            gpus=int(on_gpus),
        )


def _cores_of_each(machines: Sequence[Mapping[str, float]], workers: int, *, on_gpus: bool) -> int:
    """The most cores with which so many workers fit on the machines; 0 if they do not with one."""

    def fitting(machine: Mapping[str, float], cores: int) -> int:
        by_cores = int(machine.get("CPU", 0)) // cores
        return min(by_cores, int(machine.get("GPU", 0))) if on_gpus else by_cores

    most = int(max(machine.get("CPU", 0) for machine in machines))
    enough = (n for n in range(most, 0, -1) if sum(fitting(machine, n) for machine in machines) >= workers)
    return next(enough, 0)
