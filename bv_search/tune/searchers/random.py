"""Independent draws."""

import numpy as np

from bv_search.space.space import Draws
from bv_search.tune.searchers.searcher import Searcher


class Random(Searcher):
    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        return self.space.draw_at_random(rng)
