"""Errands: what a scan worker is sent for, and what is tried where it does not come back with it."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from bv_search.scan.outcome import Finalist, Start
from bv_search.tune.workers import LostCall

ATTEMPTS = 2  # a single head that takes so many processes down with it is to blame


@dataclass(frozen=True, kw_only=True)
class Errand(ABC):
    losses: int = 0  # of workers that were at it

    @property
    @abstractmethod
    def trials(self) -> Sequence[str]: ...

    @abstractmethod
    def apart(self) -> Sequence[Self]:
        """The same in parts."""

    def after(self, lost: LostCall) -> Sequence[Self]:
        """What to try next: together once more, if a worker died, or else apart; of one head nothing."""
        again = replace(self, losses=self.losses + lost.charge)
        if lost.worker_died and again.losses < ATTEMPTS:
            return [again]
        return self.apart() if len(self.trials) > 1 else []


@dataclass(frozen=True, kw_only=True)
class LadderSolve(Errand):
    """Rungs of the ladder that are solved together."""

    heads: tuple[Start, ...]

    @property
    def trials(self) -> Sequence[str]:
        return [head.trial for head in self.heads]

    def apart(self) -> Sequence[Self]:
        return [type(self)(heads=(head,)) for head in self.heads]


@dataclass(frozen=True, kw_only=True)
class Scoring(Errand):
    """Heads at the end of their way that are scored together."""

    heads: tuple[str, ...]

    @property
    def trials(self) -> Sequence[str]:
        return self.heads

    def apart(self) -> Sequence[Self]:
        return [type(self)(heads=(trial,)) for trial in self.heads]


@dataclass(frozen=True, kw_only=True)
class FinalPack(Errand):
    """Finalists that learn together."""

    heads: tuple[Finalist, ...]

    @property
    def trials(self) -> Sequence[str]:
        return [finalist.trial for finalist in self.heads]

    def apart(self) -> Sequence[Self]:
        return [type(self)(heads=(finalist,)) for finalist in self.heads]
