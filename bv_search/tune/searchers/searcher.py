"""The contract of a searcher: ask for a point, tell its score."""

from abc import ABC, abstractmethod

from bv_search.tune.space import Draws, Space


class Searcher(ABC):
    """Many points may be asked for before any is told: a pack of heads is asked for at once."""

    startup_points: int | None = None  # drawn at random before a model speaks; None: there is no model

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.seed = seed

    @abstractmethod
    def ask(self, trial: str) -> Draws | None:
        """The next point, or None when the space is exhausted."""

    @abstractmethod
    def adopt(self, trial: str, draws: Draws) -> None:
        """Take a point chosen elsewhere (a starting point, a resumed trial) as if it had been asked for."""

    @abstractmethod
    def tell(self, trial: str, score: float | None) -> None:
        """The score of an asked or adopted point, larger is better; None if it failed."""
