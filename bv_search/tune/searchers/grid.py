"""Every point of a finite space, once, in the order of its file."""

from bv_search.tune.searchers.searcher import Searcher
from bv_search.tune.space import Draws, Space


class Grid(Searcher):
    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._points = list(space.points())

    def __len__(self) -> int:
        return len(self._points)

    def _propose(self, number: int) -> Draws | None:
        taken = list(self._asked.values())
        return next((point for point in self._points if point not in taken), None)
