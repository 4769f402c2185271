"""Which heads train together, and how far: rungs, packs of heads that wait, and rounds of them."""

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import Self

from bv_search.scan.checks import Check
from bv_search.scan.course import Course
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MICRO_BATCH
from bv_search.tune.errand import Errand

REDUCTION = 3  # one head of so many goes on
FLOOR = 24  # steps before the first rung: three passes of the smallest stores …
FLOOR_INSIDE = 48  # … and inside of the first pass: fewer do not tell heads apart

SCORING = "scoring"  # the event that notes which heads are scored together

TRIAL = "trial"  # the key of a Tune trial's config that names ours
Rivals = tuple[float, int | str]
"""What heads must have in common to be compared on the way: data fraction and passes."""


@dataclass(frozen=True, kw_only=True)
class Rungs:
    """A head's stops are the rungs below its own end, and that end."""

    windows: int  # of the train split
    batch: int | None  # the largest, in micro-batches; None: there are no rungs
    at_borders: bool  # of courses alone, where a step takes a whole batch

    def course(self, config: TrialConfig) -> Course:
        return Course.of(config.training, self.windows)

    def next_stop(self, position: int, config: TrialConfig) -> int:
        return next((rung for rung in self.of(config) if rung > position), self.course(config).end)

    def of(self, config: TrialConfig) -> list[int]:
        """A pass, its thirds and its triples, as far as they lie between the first rung and the end."""
        if self.batch is None:
            return []
        course = self.course(config)
        places = (self._snap(place, course) for place in _powers(course.pass_length, self.batch))
        rungs = []
        for place in places:
            if place >= course.end:
                break
            rungs.append(place)
        return list(dict.fromkeys(rungs))

    def rivals(self, config: TrialConfig) -> Rivals:
        """Heads that read other rows, or for another fixed number of passes, answer another question."""
        return config.training.data_fraction, config.training.passes

    def _snap(self, place: int, course: Course) -> int:
        """To where steps of any batch end: the borders of a course are such places."""
        begins = place < course.next_border(0) and not self.at_borders
        return place if begins or course.is_border(place) else course.next_border(place)


def _powers(unit: int, batch: int) -> Iterator[int]:
    """unit / 9, unit / 3, unit, 3 unit, 9 unit, …: all that reach the floor."""
    parts = 1
    while ceil(unit / (parts * REDUCTION)) >= FLOOR_INSIDE * batch:
        parts *= REDUCTION
    places = (ceil(unit * REDUCTION**n / parts) for n in count())
    return (place for place in places if place >= FLOOR * batch)


def plan_rungs(configs: Iterable[TrialConfig], windows: int, *, halving: bool, one_token: bool) -> Rungs:
    """For whatever heads a space can draw; none without a scheduler that would use them."""
    batch = max(config.training.batch for config in configs)
    return Rungs(windows=windows, batch=batch // MICRO_BATCH if halving else None, at_borders=one_token)


@dataclass(frozen=True, kw_only=True)
class WaitingHead:
    trial: str
    config: TrialConfig
    position: int  # micro-batches seen


@dataclass(frozen=True, kw_only=True)
class Order(Errand):
    """A segment to be run."""

    heads: tuple[WaitingHead, ...]
    stop: int
    score: frozenset[str]  # trials that reach a stop of their own, and so need a score

    def apart(self) -> Sequence[Self]:
        """In halves, down to the head that is to blame."""
        middle = (len(self.heads) + 1) // 2
        return [self._of(part) for part in (self.heads[:middle], self.heads[middle:]) if part]


class Packer:
    def __init__(self, rungs: Rungs, pack: int) -> None:
        self._rungs = rungs
        self._pack = pack
        self._waiting: dict[str, WaitingHead] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def park(self, head: WaitingHead) -> None:
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
        groups = self._groups()
        while len(orders) < workers and groups:
            group = next((group for group in groups if len(group) >= self._pack), groups[0])
            share = min(self._pack, ceil(len(group) / (workers - len(orders))))
            orders.append(self._take(group[:share]))
            del group[:share]
            groups = [group for group in groups if group]
        return orders

    def _groups(self) -> list[list[WaitingHead]]:
        """Heads that read the same rows next, the furthest first."""
        groups: dict[tuple[int, ...], list[WaitingHead]] = defaultdict(list)
        for trial in sorted(self._waiting):
            head = self._waiting[trial]
            groups[head.position, *self._own_data(head)].append(head)
        return [groups[key] for key in sorted(groups, reverse=True)]

    def _own_data(self, head: WaitingHead) -> tuple[int, ...]:
        """Within the first pass all prefixes agree; later passes are shuffled by their own length.

        Where a step takes a whole batch, a segment ends at borders of all its heads: it cuts no step.
        """
        course = self._rungs.course(head.config)
        if self._rungs.at_borders:
            return course.rows, course.is_open
        return (course.rows,) if head.position >= course.pass_length else (0,)

    def _take(self, heads: Sequence[WaitingHead]) -> Order:
        """These, up to the first stop of one of them."""
        for head in heads:
            self.drop(head.trial)
        stop = self._common_stop(heads)
        due = [h.trial for h in heads if self._rungs.next_stop(h.position, h.config) == stop]
        return Order(heads=tuple(heads), stop=stop, score=frozenset(due))

    def _common_stop(self, heads: Sequence[WaitingHead]) -> int:
        stop = min(self._rungs.next_stop(head.position, head.config) for head in heads)
        courses = [self._rungs.course(head.config) for head in heads]
        same = len({course.rows for course in courses}) == 1
        return stop if same else min(stop, *(course.pass_length for course in courses))


@dataclass(frozen=True, kw_only=True)
class News:
    """What became of a head in a round, at a stop of its own."""

    score: float | None  # None: it failed
    goes_on: bool


class Round:
    """Heads that go to their next stops at one time. None of them is judged before all are in.

    So who goes on depends neither on which worker was the first, nor on when a search was broken off.
    `found` is what is known of heads that are in already, where an earlier session began the round.
    """

    def __init__(self, orders: Sequence[Order] = (), found: Mapping[str, Check] | None = None) -> None:
        self._orders = deque(orders)
        self._away = {trial for order in orders for trial in order.trials}
        self.found: dict[str, Check] = dict(found or {})  # of those that came to a stop of theirs
        self.failures: dict[str, str] = {}

    @property
    def is_in(self) -> bool:
        return not self._away

    @property
    def has_orders(self) -> bool:
        return bool(self._orders)

    @property
    def waiting(self) -> int:
        """Orders that no worker has yet."""
        return len(self._orders)

    def next_order(self) -> Order:
        return self._orders.popleft()

    def retry(self, *orders: Order) -> None:
        """In place of one that was lost."""
        self._orders.extendleft(reversed(orders))

    def give_up(self) -> None:
        """Whatever was not sent is not part of it any more."""
        self._away.difference_update(*(order.trials for order in self._orders))
        self._orders.clear()

    def came(self, trial: str, found: Check | None) -> None:
        """Without a worth it is on its way, at the end of a neighbour."""
        self._away.discard(trial)
        if found is not None:
            self.found[trial] = found

    def failed(self, trial: str, reason: str) -> None:
        self._away.discard(trial)
        self.failures[trial] = reason
