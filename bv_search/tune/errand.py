"""Errands: what a scan worker is sent for, and what is tried where it does not come back with it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from bv_search.scan.outcome import Finalist, Start
from bv_search.tune.workers import LostCall

ATTEMPTS = 2  # a single head that takes so many processes down with it is to blame


@dataclass(frozen=True, kw_only=True)
class Errand:
    heads: tuple[Any, ...]
    losses: int = 0  # of workers that were at it

    @property
    def trials(self) -> list[str]:
        return [head.trial for head in self.heads]

    def apart(self) -> Sequence[Self]:
        """The same in parts."""
        return [self._of((head,)) for head in self.heads]

    def after(self, lost: LostCall) -> Sequence[Self]:
        """What to try next: together once more, if a worker died, or else apart; of one head nothing."""
        again = replace(self, losses=self.losses + lost.charge)
        if lost.worker_died and again.losses < ATTEMPTS:
            return [again]
        return self.apart() if len(self.heads) > 1 else []

    def _of(self, heads: tuple[Any, ...]) -> Self:
        return replace(self, heads=heads, losses=0)


@dataclass(frozen=True, kw_only=True)
class LadderSolve(Errand):
    """Rungs of the ladder that are solved together."""

    heads: tuple[Start, ...]


@dataclass(frozen=True, kw_only=True)
class Scoring(Errand):
    """Heads at the end of their way that are scored together, by their trials."""

    heads: tuple[str, ...]

    @property
    def trials(self) -> list[str]:
        return list(self.heads)


@dataclass(frozen=True, kw_only=True)
class FinalPack(Errand):
    """Finalists that learn together."""

    heads: tuple[Finalist, ...]
