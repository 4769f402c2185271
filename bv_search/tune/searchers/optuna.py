"""Optuna's samplers, asked define-by-run: nested choices handed to it as a dictionary arrive unresolved."""

import math
from abc import abstractmethod
from typing import Any, Self
from warnings import catch_warnings, simplefilter

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from bv_search.space.distribution import Choice, Distribution, LogUniform, QUniform, RandInt, Value
from bv_search.space.space import Draws, Space
from bv_search.tune.searchers.searcher import Fits, Searcher, Size

MAXIMIZE, MINIMIZE = StudyDirection.MAXIMIZE, StudyDirection.MINIMIZE


class Optuna(Searcher):
    """A study is made anew for every question, of what is told and pending: so it does not matter when.

    The points in it are kept.
    """

    startup_points = 10

    def __init__(
        self, space: Space, seed: int, fits: Fits = lambda draws: True, size: Size | None = None
    ) -> None:
        super().__init__(space, seed, fits, size)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._distributions = {path: _typed(each) for path, each in space.parameters().items()}
        self._points: dict[int, tuple[Draws, float | None, _Point]] = {}

    @abstractmethod
    def _sampler(self, seed: int) -> BaseSampler: ...

    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        sampler = self._sampler(int(rng.integers(2**31 - 1)))
        directions = [MAXIMIZE] if self.size is None else [MAXIMIZE, MINIMIZE]
        study = optuna.create_study(directions=directions, sampler=sampler)
        for told, (draws, score) in self.told.items():
            study.add_trial(self._point(told, draws, score))
        for pending, draws in self.pending.items():
            study.add_trial(self._point(pending, draws, None))
        trial = study.ask()
        return self.space.draw(lambda path, distribution: _suggest(trial, path, distribution))

    def _point(self, number: int, draws: Draws, score: float | None) -> "_Point":
        """Without a score it is pending."""
        known = self._points.get(number)
        if known is None or known[0] is not draws or known[1] != score:
            known = self._points[number] = draws, score, self._new_point(draws, score)
        return known[2]

    def _new_point(self, draws: Draws, score: float | None) -> "_Point":
        typed = {path: self._distributions[path] for path in draws}
        state = TrialState.RUNNING if score is None else TrialState.COMPLETE
        values = None if score is None else self._values(draws, score)
        return _Point.of(create_trial(params=dict(draws), distributions=typed, state=state, values=values))

    def _values(self, draws: Draws, score: float) -> list[float]:
        """Sizes by their logarithm: a head half as large is as much smaller, wherever it stands."""
        return [score] if self.size is None else [score, math.log(self.size(draws))]


class _Point(FrozenTrial):
    """Nobody changes what is in it: a study, which copies all that it is given, shares that."""

    @classmethod
    def of(cls, trial: FrozenTrial) -> Self:
        point = cls.__new__(cls)
        vars(point).update(vars(trial))
        return point

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.of(self)


class OptunaTpe(Optuna):
    """Parameters together, group by group of those that go together, and the liar for what is pending.

    Versions of Optuna differ in these defaults, so they are said.
    """

    def _sampler(self, seed: int) -> BaseSampler:
        with catch_warnings():
            simplefilter("ignore", ExperimentalWarning)  # all that is said, and it is chosen on purpose
            return TPESampler(
                seed=seed, n_startup_trials=0, multivariate=True, group=True, constant_liar=True
            )


class OptunaGp(Optuna):
    """A Gaussian process on what all points have in common; the rest of a point is drawn at random."""

    def _sampler(self, seed: int) -> BaseSampler:
        return GPSampler(seed=seed, n_startup_trials=0, deterministic_objective=False)


def _typed(distribution: Distribution) -> BaseDistribution:
    match distribution:
        case Choice(options):
            return CategoricalDistribution(tuple(range(len(options))))
        case RandInt(low, high):
            return IntDistribution(low, high - 1)
        case LogUniform(low, high):
            return FloatDistribution(low, high, log=True)
        case QUniform(low, high, step):
            return FloatDistribution(low, high, step=step)
        case _:
            return FloatDistribution(distribution.low, distribution.high)


def _suggest(trial: Trial, path: str, distribution: Distribution) -> Value:
    match distribution:
        case Choice(options):
            return int(trial.suggest_categorical(path, tuple(range(len(options)))))
        case RandInt(low, high):
            return trial.suggest_int(path, low, high - 1)
        case LogUniform(low, high):
            return trial.suggest_float(path, low, high, log=True)
        case QUniform(low, high, step):
            return trial.suggest_float(path, low, high, step=step)
        case _:
            return trial.suggest_float(path, distribution.low, distribution.high)
