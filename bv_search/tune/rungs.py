"""Where heads stop to be compared: positions, in micro-batches, at which a segment ends."""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil

from bv_search.scan.order import pass_length
from bv_search.scan.trial import TrialConfig

REDUCTION = 3  # one head of so many goes on
RUNGS = 2  # before the end
FLOOR = 48  # micro-batches: fewer steps do not tell heads apart


@dataclass(frozen=True, kw_only=True)
class Rungs:
    """A head's stops are the rungs below its own end, and that end."""

    windows: int  # of the train split
    positions: tuple[int, ...]
    last: int  # the end of the longest head

    def rows(self, config: TrialConfig) -> int:
        """Windows of one pass of a head."""
        return config.training.rows(self.windows)

    def end(self, config: TrialConfig) -> int:
        return pass_length(self.rows(config)) * config.training.epochs

    def next_stop(self, position: int, config: TrialConfig) -> int:
        end = self.end(config)
        return min([rung for rung in self.positions if position < rung < end], default=end)


def plan_rungs(configs: Iterable[TrialConfig], windows: int, *, halving: bool) -> Rungs:
    """Rungs for whatever heads a space can draw; none without a scheduler that would use them.

    The longest head has the most data of any and the most passes of any: both are drawn by themselves.
    """
    trainings = [config.training for config in configs]
    rows = max(training.rows(windows) for training in trainings)
    last = pass_length(rows) * max(training.epochs for training in trainings)
    positions = _halvings(last) if halving else ()
    return Rungs(windows=windows, positions=positions, last=last)


def _halvings(last: int) -> tuple[int, ...]:
    for count in range(RUNGS, 0, -1):
        first = ceil(last / REDUCTION**count)
        if FLOOR <= first < last:
            return tuple(first * REDUCTION**n for n in range(count))
    return ()
