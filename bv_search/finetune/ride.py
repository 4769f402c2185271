"""Which heads ride along: drawn before the first step, since none can wait for another's score."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from bv_search.errors import SpaceError
from bv_search.finetune.config import RIDING
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import Config, Draws, Space, find_space, parse_space
from bv_search.store.layout import MICRO_BATCH

MOST_DRAWS = 1000
COURSE = frozenset({"passes", "patience", "schedule", "warmup", "data_fraction"})
"""Settings of a head's way through a store. Riding, it goes as far as fine-tuning, at a constant rate."""

Fits = Callable[[TrialConfig], bool]


@dataclass(frozen=True, kw_only=True)
class Ride:
    """What was asked for, before there is an encoder."""

    space: Space
    trials: int | None  # None: all points of a list, else RIDING
    seed: int
    left_out: tuple[str, ...]  # settings of the space that say nothing here

    def draw(self, fits: Fits) -> list[TrialConfig]:
        """The first points of a list; else the space's starting points, then others at random."""
        heads = self._listed(fits) if self.space.is_enumerable() else self._drawn(fits)
        if not heads:
            raise SpaceError(
                "has no head that may ride along",
                where=self.space.name,
                expected=f"max_parameters above {self.space.max_parameters:,}",
            )
        return heads

    def to_json(self) -> dict[str, Any]:
        """The space, as a run keeps it."""
        return {"name": self.space.name, **self.space.document}

    def _listed(self, fits: Fits) -> list[TrialConfig]:
        return [head for head in map(self._typed, self.space.points()) if fits(head)][: self.trials]

    def _drawn(self, fits: Fits) -> list[TrialConfig]:
        rng = np.random.default_rng(self.seed)
        found = [head for head in map(TrialConfig.from_json, self.space.start) if fits(head)]
        for _ in range(MOST_DRAWS):
            if len(found) >= (self.trials or RIDING):
                break
            head = self._typed(self.space.draw_at_random(rng))
            if fits(head) and head not in found:
                found.append(head)
        return found[: self.trials or RIDING]

    def _typed(self, draws: Draws) -> TrialConfig:
        return TrialConfig.from_json(self.space.config(draws))


def plan_ride(space: str | Mapping[str, Any], *, trials: int | None, seed: int) -> Ride:
    """A step follows each micro-batch where the space leaves its batch open: rows are met but once."""
    asked = find_space(space, batch=MICRO_BATCH)
    inside: Config = asked.document["space"]
    document = {
        **asked.document,
        "space": _without_course(inside),
        "start": [_without_course(point) for point in asked.start],
    }
    return Ride(
        space=parse_space(document, asked.name, batch=MICRO_BATCH),
        trials=trials,
        seed=seed,
        left_out=tuple(sorted(COURSE & inside.keys())),
    )


def _without_course(point: Config) -> Config:
    return {name: value for name, value in point.items() if name not in COURSE}
