"""A search on workers that compute nothing: dispatcher, packing and halving are those of `tune`."""

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from bv_search.bench.cluster_rates import ClusterRates
from bv_search.bench.cluster_work import ClusterWork
from bv_search.bench.cluster_workers import DRIVER, LIMITS, SimulatedWorkers
from bv_search.command import Progress
from bv_search.tune.budget import Budget
from bv_search.tune.dispatcher import Dispatcher
from bv_search.tune.halving import Halving
from bv_search.tune.packing import Order, Packer


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """What a search would take on so many workers."""

    workers: int
    machines: int
    seconds: float
    cost: float
    shares: Mapping[str, float]  # of the workers' time

    @property
    def bound(self) -> str:
        """What most of its workers' time goes to, or is waited for."""
        return max(self.shares, key=lambda limit: self.shares[limit])

    def to_json(self) -> dict[str, Any]:
        return {
            "workers": self.workers,
            "machines": self.machines,
            "seconds": round(self.seconds, 1),
            "cost": round(self.cost, 2),
            "shares": {limit: round(share, 4) for limit, share in self.shares.items()},
            "bound": self.bound,
        }


class Unwritten:
    """A recorder that keeps nothing."""

    def began_round(self, orders: Sequence[Order]) -> None: ...

    def segment(self, outcomes: Sequence[Any], seconds: float, over: Mapping[str, str]) -> None: ...

    def halted(self, statuses: Mapping[str, str], cut: Collection[str]) -> None: ...

    def finished(self, pack: Sequence[Any]) -> None: ...

    def noted(self, work: str, packs: Sequence[Sequence[str]]) -> None: ...

    def packs_left(self, work: str, trials: Collection[str]) -> list[list[str]]:
        return []

    def state(self, trial: str, position: int) -> bytes:
        return b""

    def mirror(self) -> None: ...


def simulate(work: ClusterWork, rates: ClusterRates, *, workers: int, trials: int, pack: int) -> Simulated:
    """Random search with ASHA, a pack for each worker under way."""
    simulated = SimulatedWorkers(workers, rates, work)
    recorder: Any = Unwritten()
    dispatcher = Dispatcher(
        workers=simulated,
        packer=Packer(work.rungs, pack),
        halving=Halving(work.rungs),
        recorder=recorder,
        progress=Progress(quiet=True),
        total=trials,
        budget=Budget(None),
    )
    _search(dispatcher, simulated, rates, _trials(work, trials), room=workers * pack)
    dispatcher.finish(pack)
    total = sum(simulated.spent.values())
    return Simulated(
        workers=workers,
        machines=rates.machines(workers),
        seconds=simulated.now,
        cost=rates.cost(workers, simulated.now),
        shares={limit: simulated.spent[limit] / total for limit in LIMITS if simulated.spent[limit]},
    )


def _trials(work: ClusterWork, count: int) -> deque[tuple[str, dict[str, Any]]]:
    rng = np.random.default_rng(0)
    draws = (work.space.draw_at_random(rng) for _ in range(count))
    return deque((f"{n:05d}", work.space.config(draw)) for n, draw in enumerate(draws, start=1))


def _search(
    dispatcher: Dispatcher,
    workers: SimulatedWorkers,
    rates: ClusterRates,
    left: deque[tuple[str, dict[str, Any]]],
    room: int,
) -> None:
    """As Ray Tune's loop does it: new trials while there is room, a round, and news of it."""
    configs = dict(left)
    live: set[str] = set()
    while left or live:
        begun = [left.popleft() for _ in range(min(room - len(live), len(left)))]
        if begun:
            workers.wait_for(DRIVER, len(begun) * rates.driver_seconds)
        for trial, config in begun:
            live.add(trial)
            dispatcher.park(trial, config)
        dispatcher.dispatch(all_are_in=True)
        for trial, news in dispatcher.collect(wait=None).items():
            if news.goes_on:
                dispatcher.park(trial, configs[trial])
            else:
                live.discard(trial)


def stops_to_scale(found: Sequence[Simulated], gain: float = 1.25) -> tuple[Simulated, Simulated] | None:
    """The size than which no larger one is so many times as fast, and the next; None where all scale."""
    for here, more in pairwise(found):
        if all(here.seconds < gain * each.seconds for each in found if each.workers > here.workers):
            return here, more
    return None
