"""Independent draws."""

import math

import numpy as np

from bv_search.tune.distribution import Choice, Distribution, LogUniform, RandInt, Value
from bv_search.tune.searchers.searcher import Searcher
from bv_search.tune.space import Draws, Space


class Random(Searcher):
    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._rng = np.random.default_rng(seed)

    def ask(self, trial: str) -> Draws | None:
        return self.space.draw(self._pick)

    def adopt(self, trial: str, draws: Draws) -> None:
        """One draw is spent for each, so that a resumed search does not draw the same points again."""
        self.space.draw(self._pick)

    def tell(self, trial: str, score: float | None) -> None:
        """Independent draws learn nothing."""

    def _pick(self, path: str, distribution: Distribution) -> Value:
        match distribution:
            case Choice(options):
                return int(self._rng.integers(len(options)))
            case RandInt(low, high):
                return int(self._rng.integers(low, high))
            case LogUniform(low, high):
                return float(math.exp(self._rng.uniform(math.log(low), math.log(high))))
            case _:
                return float(self._rng.uniform(distribution.low, distribution.high))
