"""The contract of a searcher: ask for a point, tell its score."""

from abc import ABC, abstractmethod
from collections.abc import Mapping

import numpy as np

from bv_search.tune.searchers.draw import draw_at_random
from bv_search.tune.space import Draws, Space

PATIENCE = 3  # proposals of known points before one is drawn at random …
ATTEMPTS = 30  # … and attempts at a new point: a finite space may have none left


class Searcher(ABC):
    """Many points may be asked for before any is told: a pack of heads is asked for at once.

    What a searcher proposes for a trial depends on the seed, the trial's number, and the trials that were
    asked for and told until then: not on the order in which they were told, nor on how often the search was
    interrupted.
    """

    startup_points: int | None = None  # that are told before a model speaks; None: there is no model

    def __init__(self, space: Space, seed: int) -> None:
        self.space = space
        self.seed = seed
        self._asked: dict[int, Draws] = {}
        self._scores: dict[int, float] = {}
        self._over: set[int] = set()  # told or failed
        self._attempt = 0  # at the present proposal

    def ask(self, trial: str) -> Draws | None:
        """The next point, or None when the space is exhausted."""
        number = int(trial)
        for self._attempt in range(ATTEMPTS):
            draws = self._next(number)
            if draws not in self._asked.values():
                break
        if draws is not None:
            self._asked[number] = draws
        return draws

    def adopt(self, trial: str, draws: Draws) -> None:
        """Take a point chosen elsewhere (a starting point, a resumed trial) as if it had been asked for."""
        self._asked[int(trial)] = draws

    def tell(self, trial: str, score: float | None) -> None:
        """The score of an asked or adopted point, larger is better; None if it failed."""
        self._over.add(int(trial))
        if score is not None:
            self._scores[int(trial)] = score

    @property
    def told(self) -> Mapping[int, tuple[Draws, float]]:
        """Points with a score, in the order of their numbers."""
        return {number: (self._asked[number], self._scores[number]) for number in sorted(self._scores)}

    @property
    def pending(self) -> Mapping[int, Draws]:
        """Points that were asked for, and are not over."""
        return {number: draws for number, draws in sorted(self._asked.items()) if number not in self._over}

    def random(self, number: int) -> np.random.Generator:
        """Where all chance of a proposal comes from."""
        return np.random.default_rng([self.seed, number, self._attempt])

    def _next(self, number: int) -> Draws | None:
        """At random while too little was told for a model, and where a model has nothing new to say."""
        if len(self._scores) < (self.startup_points or 0) or self._attempt >= PATIENCE:
            return draw_at_random(self.space, self.random(number))
        return self._propose(number)

    @abstractmethod
    def _propose(self, number: int) -> Draws | None:
        """The point of a trial, by what is told and pending."""
