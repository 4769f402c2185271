"""A contest: many ways to search, with many seeds each, on one table.

S seeds, B budgets: 1, 2, 3, … full heads.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import product, starmap
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from bv_search.bench.regret import (
    AXES,
    REACHED,
    ROLES,
    Axis,
    Mean,
    Role,
    Way,
    mean_of,
    regrets,
    search,
)
from bv_search.bench.table import Table, read_table
from bv_search.command import Progress
from bv_search.tune.config import DEFAULT_SCHEDULER, DEFAULT_SEARCHER, GENERATION, SCHEDULERS

RANDOM = Way(searcher="random", scheduler="none", generation=1)
DEFAULT = Way(searcher=DEFAULT_SEARCHER, scheduler=DEFAULT_SCHEDULER, generation=GENERATION)
LONGER = {RANDOM: 4, DEFAULT: 2}  # times the budget of others: how far one must go that has no end in it
SHOWN = (4, 8, 16, 32, 64)  # budgets that ways are compared at


Found = Mapping[tuple[Role, Axis], Sequence[float]]  # B


@dataclass(frozen=True, kw_only=True)
class ContestTask:
    """One search to be replayed."""

    path: Path
    way: Way
    seed: int
    heads: int  # full ones, whose rows it may read
    shuffled: bool

    def run(self) -> Found:
        table = _open(self.path)
        moments = search(
            table.shuffled(self.seed) if self.shuffled else table, self.way, self.seed, self.heads
        )
        budgets = range(1, self.heads + 1)
        return {(role, axis): regrets(table, role, moments, axis, budgets) for role in ROLES for axis in AXES}


@cache
def _open(path: Path) -> Table:
    return read_table(path)


def ways_of(searchers: Iterable[str], generations: Iterable[int]) -> list[Way]:
    """Every way to search with these, random search at full length and the default among them."""
    ways = starmap(_way, product(searchers, SCHEDULERS, generations))
    return list(dict.fromkeys([RANDOM, DEFAULT, *ways]))


def controls_of(searchers: Iterable[str]) -> list[Way]:
    """Learners at full length, where they hear often, and random search beside them."""
    return list(dict.fromkeys([RANDOM, *(_way(searcher, "none", GENERATION) for searcher in searchers)]))


def _way(searcher: str, scheduler: str, generation: int) -> Way:
    return Way(searcher=searcher, scheduler=scheduler, generation=generation)


@dataclass(frozen=True, kw_only=True)
class Contest:
    regrets: Mapping[Way, Mapping[tuple[Role, Axis], np.ndarray]]  # SB

    @property
    def ways(self) -> list[Way]:
        return list(self.regrets)

    def budgets(self, way: Way) -> list[int]:
        return list(range(1, self.regrets[way]["select", "rows"].shape[1] + 1))

    @property
    def shown(self) -> list[int]:
        """Those that every way has."""
        shortest = min(len(self.budgets(way)) for way in self.ways)
        return [budget for budget in SHOWN if budget <= shortest] or [shortest]

    def means(self, way: Way, role: Role = "select", axis: Axis = "rows") -> list[Mean]:
        return mean_of(self.regrets[way][role, axis])

    def needed(self, way: Way, role: Role = "select", axis: Axis = "rows") -> int | None:
        """Full heads from which on the regret is small enough."""
        means = dict(zip(self.budgets(way), self.means(way, role, axis), strict=True))
        late = max((budget for budget, mean in means.items() if mean.value > REACHED), default=0)
        return next(
            (budget for budget, mean in means.items() if budget > late and mean.value <= REACHED), None
        )

    def against(self, way: Way, other: Way, role: Role = "select") -> dict[int, Mean]:
        """How much more it regrets, seed by seed, after the budgets that are shown."""
        places = [budget - 1 for budget in self.shown]
        ours_SB, theirs_SB = (self.regrets[each][role, "rows"][:, places] for each in (way, other))
        return dict(zip(self.shown, mean_of(ours_SB - theirs_SB), strict=True))

    def worse(self, way: Way, other: Way) -> list[int]:
        return [budget for budget, more in self.against(way, other).items() if more.value > more.half]

    def better(self, way: Way, other: Way) -> list[int]:
        return [budget for budget, more in self.against(way, other).items() if -more.value > more.half]

    def overall(self, way: Way) -> float:
        """Its regret on select, over the budgets that are shown."""
        means = self.means(way)
        return float(np.mean([means[budget - 1].value for budget in self.shown]))

    def to_json(self) -> dict[str, Any]:
        return {str(way): self._way_json(way) for way in self.regrets}

    def _way_json(self, way: Way) -> dict[str, Any]:
        curves: dict[str, Any] = {
            role: {axis: [mean.to_json() for mean in self.means(way, role, axis)] for axis in AXES}
            for role in ROLES
        }
        return {"needed": {axis: self.needed(way, axis=axis) for axis in AXES}, **curves}


def hold(
    path: Path,
    ways: Iterable[Way],
    *,
    seeds: int,
    heads: int,
    processes: int,
    progress: Progress,
    shuffled: bool = False,
) -> Contest:
    """Every way with every seed."""
    pairs = list(product(ways, range(seeds)))
    tasks = [
        ContestTask(path=path, way=way, seed=seed, heads=heads * LONGER.get(way, 1), shuffled=shuffled)
        for way, seed in pairs
    ]
    found: dict[Way, list[Found]] = defaultdict(list)
    with _replaying(processes) as replay:
        for number, ((way, _), one) in enumerate(zip(pairs, replay(ContestTask.run, tasks), strict=True)):
            progress.update(f"{path}: {number} of {len(tasks)} searches replayed")
            found[way].append(one)
    keys = list(product(ROLES, AXES))
    return Contest(
        regrets={
            way: {key: np.array([one[key] for one in ones]) for key in keys} for way, ones in found.items()
        }
    )


@contextmanager
def _replaying(processes: int) -> Iterator[Callable[..., Iterable[Found]]]:
    """Here, or in so many processes."""
    if processes == 1:
        yield map
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        yield partial(pool.map, chunksize=4)
