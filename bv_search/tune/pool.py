"""The pool: heads that wait for a segment, and which of them go together. Knows nothing of Ray."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from bv_search.scan.trial import TrialConfig
from bv_search.tune.rungs import Rungs


@dataclass(frozen=True, kw_only=True)
class Waiting:
    trial: str
    config: TrialConfig
    position: int  # micro-batches seen


@dataclass(frozen=True, kw_only=True)
class Order:
    """A segment to be run."""

    heads: tuple[Waiting, ...]
    stop: int
    score: frozenset[str]  # trials that reach a stop of their own, and so need a score
    losses: int = 0  # how often it was lost with its worker

    @property
    def trials(self) -> list[str]:
        return [head.trial for head in self.heads]

    def halves(self) -> tuple["Order", ...]:
        """What to try when the whole cannot be run: the heads apart, down to the one that is to blame."""
        middle = (len(self.heads) + 1) // 2
        parts = (self.heads[:middle], self.heads[middle:])
        return tuple(Order(heads=part, stop=self.stop, score=self.score) for part in parts if part)


class Pool:
    def __init__(self, rungs: Rungs, pack: int) -> None:
        self._rungs = rungs
        self._pack = pack
        self._waiting: dict[str, Waiting] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def park(self, head: Waiting) -> None:
        self._waiting[head.trial] = head

    def drop(self, trial: str) -> None:
        """The trial was ended from outside."""
        self._waiting.pop(trial, None)

    def next_round(self, workers: int) -> list[Order]:
        """What so many workers take of the heads that wait, once no more can come: an order each, or fewer.

        A full pack goes, or else the furthest. Were they to wait for others to come up, they would fill the
        generation, and a search would have begun many heads and ended none. Which heads go together depends
        on where they stand alone, not on when they came there.
        """
        orders: list[Order] = []
        while len(orders) < workers and (group := self._next_group()):
            share = ceil(len(group) / (workers - len(orders)))
            orders.append(self._take(group[: min(self._pack, share)]))
        return orders

    def _next_group(self) -> list[Waiting] | None:
        groups = self._groups()
        full = (group for group in groups if len(group) >= self._pack)
        return next(full, None) or next(iter(groups), None)

    def _groups(self) -> list[list[Waiting]]:
        """Heads that read the same rows next, the furthest first."""
        groups: dict[tuple[int, ...], list[Waiting]] = defaultdict(list)
        for trial in sorted(self._waiting):
            head = self._waiting[trial]
            groups[head.position, *self._own_data(head)].append(head)
        return [groups[key] for key in sorted(groups, reverse=True)]

    def _own_data(self, head: Waiting) -> tuple[int, ...]:
        """Within the first pass all prefixes agree; later passes are shuffled by their own length.

        Where a step takes a whole batch, a segment ends at borders of all its heads: it cuts no step.
        """
        course = self._rungs.course(head.config)
        if self._rungs.at_borders:
            return course.rows, course.is_open
        return (course.rows,) if head.position >= course.pass_length else (0,)

    def _take(self, heads: Sequence[Waiting]) -> Order:
        """These, up to the first stop of one of them."""
        for head in heads:
            self.drop(head.trial)
        stop = self._common_stop(heads)
        due = [h.trial for h in heads if self._rungs.next_stop(h.position, h.config) == stop]
        return Order(heads=tuple(heads), stop=stop, score=frozenset(due))

    def _common_stop(self, heads: Sequence[Waiting]) -> int:
        stop = min(self._rungs.next_stop(head.position, head.config) for head in heads)
        courses = [self._rungs.course(head.config) for head in heads]
        same = len({course.rows for course in courses}) == 1
        return stop if same else min(stop, *(course.pass_length for course in courses))
