"""Where heads stop to be compared: positions, in micro-batches, at which a segment ends."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import count
from math import ceil

from bv_search.scan.course import Course
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MICRO_BATCH

REDUCTION = 3  # one head of so many goes on
FLOOR = 24  # steps before the first rung: three passes of the smallest stores …
FLOOR_INSIDE = 48  # … and inside of the first pass: fewer do not tell heads apart

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
