"""The contract of a searcher: ask for a point, tell its score."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bv_search.tune.searchers.draw import draw_at_random
from bv_search.tune.space import Draws, Space

LEARNED_DRAWS = 8  # of a model, which are slow, before the next ones are at random
MOST_DRAWS = 1000

Fits = Callable[[Draws], bool]
Size = Callable[[Draws], int]


class Searcher(ABC):
    """Many points may be asked for before any is told: a pack of heads is asked for at once.

    What a searcher proposes for a trial depends on the seed, the trial's number, and the trials that were
    asked for and told until then: not on the order in which they were told, nor on how often the search was
    interrupted.

    What does not fit is never proposed: it is drawn again. With a `size` that small heads have less of, both
    are looked for: good ones and small ones.
    """

    finds_fronts = True  # of several objectives
    startup_points: int | None = None  # that are told before a model speaks; None: there is no model

    def __init__(
        self, space: Space, seed: int, fits: Fits = lambda draws: True, size: Size | None = None
    ) -> None:
        self.space = space
        self.seed = seed
        self.fits = fits
        self.size = size
        self.refused = 0  # draws that did not fit
        self._remembered = 0
        self._asked: dict[int, Draws] = {}
        self._scores: dict[int, float] = {}
        self._over: set[int] = set()  # told or failed

    def ask(self, trial: str) -> Draws | None:
        """The next point, or None when the space is exhausted."""
        number = int(trial)
        draws = self._fitting(number)
        if draws is not None:
            self._asked[number] = draws
        return draws

    def adopt(self, trial: str, draws: Draws) -> None:
        """Take a point chosen elsewhere (a starting point, a resumed trial) as if it had been asked for."""
        self._asked[int(trial)] = draws

    def remember(self, points: Sequence[tuple[Draws, float]]) -> None:
        """Points that other searches scored, before the first is asked for: as if they had been told."""
        for number, (draws, score) in enumerate(points, start=-len(points)):
            self._asked[number], self._scores[number] = draws, score
            self._over.add(number)
        self._remembered = len(points)

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

    def _fitting(self, number: int) -> Draws | None:
        for attempt in range(MOST_DRAWS):
            rng = self._random(number, attempt)
            learns = attempt < LEARNED_DRAWS and len(self._scores) >= (self.startup_points or 0)
            draws = self._propose(number, rng) if learns else self._first(rng)
            if draws is None or self.fits(draws):
                return draws
            self.refused += 1
        return self._at_corner(self._random(number, MOST_DRAWS))

    def _random(self, number: int, attempt: int) -> np.random.Generator:
        """Where all chance of a proposal comes from; not what the searches drew that are remembered."""
        return np.random.default_rng([self.seed, number, attempt, self._remembered])

    def _first(self, rng: np.random.Generator) -> Draws | None:
        """While too little was told for a model."""
        return draw_at_random(self.space, rng)

    def _at_corner(self, rng: np.random.Generator) -> Draws:
        """Where next to nothing fits: some head that does, trained in a way drawn at random."""
        heads = [draws for draws in self.space.probes() if self.fits(draws)]
        chosen, drawn = heads[rng.integers(len(heads))], draw_at_random(self.space, rng)
        training = {path: value for path, value in drawn.items() if not _is_of_head(path)}
        return {**{path: value for path, value in chosen.items() if _is_of_head(path)}, **training}

    @abstractmethod
    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        """The point of a trial, by what is told and pending."""


def _is_of_head(path: str) -> bool:
    return path.partition(".")[0] == "head"
