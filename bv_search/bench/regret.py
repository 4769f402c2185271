"""Regret: how far the head that a search would announce is from the best of its table.

0 is the best of the table, 1 its median, on select as on report; before anything is known it is 1.
Budgets are counted in full heads: rows that a head of the table reads on average to its end, and the seconds
that it takes for them alone.

S seeds, B budgets.
"""

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import inf, isnan, nan, sqrt
from typing import Literal

import numpy as np

from bv_search.bench.replay import Moment, Replay
from bv_search.bench.table import Learned, Table
from bv_search.errors import DataError
from bv_search.tune.searchers import SEARCHERS

Role = Literal["select", "report"]
Axis = Literal["rows", "trials", "seconds"]
ROLES: tuple[Role, ...] = ("select", "report")
AXES: dict[Axis, Callable[[Moment], float]] = {
    "rows": lambda moment: moment.rows,
    "trials": lambda moment: moment.trials,
    "seconds": lambda moment: moment.seconds,
}
REACHED = 0.05  # a regret that is small enough
NORMAL_95 = 1.96


@dataclass(frozen=True, kw_only=True, order=True)
class Way:
    """How a search goes about it."""

    searcher: str
    scheduler: str
    generation: int

    def __str__(self) -> str:
        return f"{self.searcher}, {self.scheduler}, {self.generation}"


@dataclass(frozen=True, kw_only=True)
class Scale:
    best: float
    median: float

    def regret(self, value: float) -> float:
        return (self.best - value) / (self.best - self.median)


def scale_of(table: Table, role: Role) -> Scale:
    values = [value_of(each, role) for each in table.learned.values() if not each.diverged]
    best, median = max(values), float(np.median(values))
    if median == best:
        raise DataError(f"tells no heads apart on {role}", where=table.ground.name, found=f"half have {best}")
    return Scale(best=best, median=median)


def value_of(learned: Learned, role: Role) -> float:
    assert learned.report is not None
    return learned.report if role == "report" else learned.end.score


def best_on_select(table: Table) -> Learned:
    """What a search that trains the whole table would announce."""
    return max((each for each in table.learned.values() if not each.diverged), key=lambda each: each.end.rank)


def full_head(table: Table) -> float:
    """Rows that a head reads on average."""
    return float(np.mean([each.end.rows for each in table.learned.values() if not each.diverged]))


def search(table: Table, way: Way, seed: int, heads: int) -> list[Moment]:
    """A search that may read as many rows as so many full heads."""
    searcher = SEARCHERS[way.searcher](table.space, seed)
    rungs = table.rungs(halving=way.scheduler == "asha")
    limit = heads * full_head(table)
    moments = Replay(table, rungs, searcher, way.generation).run()
    return list(takewhile(lambda moment: moment.rows <= limit, moments))


def units(table: Table) -> dict[Axis, float]:
    """What a full head is worth on each axis."""
    rows = full_head(table)
    return {"rows": rows, "trials": 1.0, "seconds": table.seconds([round(rows)])}


def regrets(
    table: Table, role: Role, moments: Sequence[Moment], axis: Axis, budgets: Sequence[float]
) -> list[float]:
    """After each budget, of what was found until then; no number where the search was over before."""
    scale, unit = scale_of(table, role), units(table)[axis]
    spent = [AXES[axis](moment) / unit for moment in moments]

    def regret(budget: float) -> float:
        place = bisect_right(spent, budget) - 1
        value = _found(moments[place], role) if place >= 0 else None
        return 1.0 if value is None else scale.regret(value)

    longest = inf if axis == "rows" else spent[-1]  # a search has all of its rows
    return [regret(budget) if budget <= longest else nan for budget in budgets]


def _found(moment: Moment, role: Role) -> float | None:
    if role == "select":
        return moment.select
    return None if moment.best is None else value_of(moment.best, role)


@dataclass(frozen=True, kw_only=True)
class Mean:
    value: float
    half: float  # of its 95 % interval over seeds

    def to_json(self) -> list[float | None]:
        return [None if isnan(each) else round(each, 4) for each in (self.value, self.half)]


def mean_of(values_SB: np.ndarray) -> list[Mean]:
    """Of budgets that all seeds came to; of others no number."""
    halves_B = NORMAL_95 * values_SB.std(axis=0, ddof=1) / sqrt(len(values_SB))
    return [
        Mean(value=float(v), half=float(h)) for v, h in zip(values_SB.mean(axis=0), halves_B, strict=True)
    ]
