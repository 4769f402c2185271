"""Every point of a finite space, once, in the order of its file."""

from bv_search.tune.searchers.searcher import Searcher
from bv_search.tune.space import Draws, Space


class Grid(Searcher):
    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        self._points = list(space.points())
        self._next = 0
        self._adopted: list[Draws] = []

    def __len__(self) -> int:
        return len(self._points)

    def ask(self, trial: str) -> Draws | None:
        while self._next < len(self._points):
            point = self._points[self._next]
            self._next += 1
            if point not in self._adopted:
                return point
        return None

    def adopt(self, trial: str, draws: Draws) -> None:
        self._adopted.append(draws)

    def tell(self, trial: str, score: float | None) -> None:
        """A table is filled in whatever its cells say."""
