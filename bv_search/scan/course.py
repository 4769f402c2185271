"""A head's course: how far it goes through the rows of a store, and where it is checked. Free of torch.

Positions count micro-batches from the start of the first pass. A course depends on the head's own settings
and on the number of rows alone, so a head is checked at the same places whatever runs beside it.
"""

from dataclasses import dataclass
from math import ceil

from bv_search.scan.order import pass_length
from bv_search.scan.training import TrainingConfig

STEPS = 3000  # that a head of `passes: auto` makes at most, where a pass has fewer
MOST_PASSES = 60  # however few rows there are
STRETCH = 256  # micro-batches between two checks, about …
MOST_CHECKS = 4  # … and no more checks than these a pass: each costs a look at all of select


@dataclass(frozen=True, kw_only=True)
class Course:
    rows: int  # windows of a pass
    passes: int  # at most
    is_open: bool  # it ends once the head has learned; it is checked on the way

    @classmethod
    def of(cls, training: TrainingConfig, windows: int) -> "Course":
        """Of a head so trained, on a train split of so many windows."""
        rows = training.rows(windows)
        if isinstance(training.passes, int):
            return cls(rows=rows, passes=training.passes, is_open=False)
        wanted = ceil(STEPS * training.batch / rows)
        return cls(rows=rows, passes=min(max(wanted, 1), MOST_PASSES), is_open=True)

    @property
    def pass_length(self) -> int:
        """Micro-batches of a pass."""
        return pass_length(self.rows)

    @property
    def end(self) -> int:
        """Where it ends at the latest."""
        return self.passes * self.pass_length

    def next_border(self, position: int) -> int:
        """The first place behind a position where a step ends, whether its batch is full or not.

        That is where a pass ends, and where a head is checked.
        """
        return next(border for border in self._borders(position // self.pass_length) if border > position)

    def last_border(self, position: int) -> int:
        """The nearest one at a position or before it."""
        begun = position // self.pass_length
        return max(
            [border for border in self._borders(begun) if border <= position],
            default=begun * self.pass_length,
        )

    def as_far_as(self, position: int, other: "Course") -> int:
        """The first border after as many passes as another course had made at a position."""
        place = position * self.pass_length // other.pass_length
        return min(self.next_border(place - 1), self.end)

    def is_border(self, position: int) -> bool:
        return self.last_border(position) == position

    def is_check(self, position: int) -> bool:
        return self.is_open and position > 0 and self.is_border(position)

    def _borders(self, number: int) -> list[int]:
        """Those inside of a pass, and its end."""
        length = self.pass_length
        count = min(MOST_CHECKS, ceil(length / STRETCH)) if self.is_open else 1
        return [number * length + length * n // count for n in range(1, count + 1)]
