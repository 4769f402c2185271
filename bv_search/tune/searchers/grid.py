"""Every point of a finite space, once, in the order of its file."""

import numpy as np

from bv_search.space.space import Draws, Space
from bv_search.tune.searchers.searcher import Fits, Searcher, Size


class Grid(Searcher):
    def __init__(
        self, space: Space, seed: int, fits: Fits = lambda draws: True, size: Size | None = None
    ) -> None:
        super().__init__(space, seed, fits, size)
        self._points = [draws for draws in space.points() if fits(draws)]

    def __len__(self) -> int:
        return len(self._points)

    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        taken = list(self._asked.values())
        return next((point for point in self._points if point not in taken), None)
