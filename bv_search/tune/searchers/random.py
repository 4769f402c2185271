"""Independent draws."""

import numpy as np

from bv_search.tune.searchers.searcher import Searcher, draw_at_random
from bv_search.tune.space import Draws


class Random(Searcher):
    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        return draw_at_random(self.space, rng)
