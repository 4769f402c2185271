"""Every point of a finite space, once, in the order of its file."""

from itertools import islice

import numpy as np

from bv_search.space.space import Draws, Space
from bv_search.tune.searchers.searcher import Fits, Searcher, Size


class Grid(Searcher):
    def __init__(
        self, space: Space, seed: int, fits: Fits = lambda draws: True, size: Size | None = None
    ) -> None:
        super().__init__(space, seed, fits, size)
        self._points = [draws for draws in space.points() if fits(draws)]
        self._next = 0
        self._seen = 0  # of what was asked for
        self._taken: set[str] = set()

    def __len__(self) -> int:
        return len(self._points)

    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        self._taken |= {_key(draws) for draws in islice(self._asked.values(), self._seen, None)}
        self._seen = len(self._asked)
        while self._next < len(self._points):
            point = self._points[self._next]
            if _key(point) not in self._taken:
                return point
            self._next += 1
        return None


def _key(draws: Draws) -> str:
    return repr(sorted(draws.items()))
