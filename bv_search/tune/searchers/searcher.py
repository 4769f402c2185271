"""The contract of a searcher: ask for a point, tell its score."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from bv_search.space.space import Draws, Space

LEARNED_DRAWS = 8  # of a model, which are slow, before the next ones are at random
PATIENCE = 3  # draws of a model that were asked for before, likewise
REPEATS = 30  # draws that were asked for before: a finite space may have no others left
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
        draws = self._new(number)
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

    def _new(self, number: int) -> Draws | None:
        """A point that fits and was not asked for; where a space has no such one left, any that fits."""
        known, repeats = None, 0
        for attempt in range(MOST_DRAWS):
            rng = self._random(number, attempt)
            learns = attempt < LEARNED_DRAWS and repeats < PATIENCE and self._is_told_enough
            draws = self._propose(number, rng) if learns else self.space.draw_at_random(rng)
            if draws is None:
                return None
            if not self.fits(draws):
                self.refused += 1
            elif draws not in self._asked.values():
                return draws
            else:
                known, repeats = draws, repeats + 1
                if repeats == REPEATS:
                    break
        return known or self._at_corner(self._random(number, MOST_DRAWS))

    @property
    def _is_told_enough(self) -> bool:
        """For a model to speak; draws are at random until then."""
        return len(self._scores) >= (self.startup_points or 0)

    def _random(self, number: int, attempt: int) -> np.random.Generator:
        """Where all chance of a proposal comes from; not what the searches drew that are remembered."""
        return np.random.default_rng([self.seed, number, attempt, self._remembered])

    def _at_corner(self, rng: np.random.Generator) -> Draws:
        """Where next to nothing fits: some head that does, trained in a way drawn at random."""
        heads = [draws for draws in self.space.probes() if self.fits(draws)]
        chosen, drawn = heads[rng.integers(len(heads))], self.space.draw_at_random(rng)
        training = {path: value for path, value in drawn.items() if not _is_of_head(path)}
        return {**{path: value for path, value in chosen.items() if _is_of_head(path)}, **training}

    @abstractmethod
    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        """The point of a trial, by what is told and pending."""


def _is_of_head(path: str) -> bool:
    return path.partition(".")[0] == "head"
