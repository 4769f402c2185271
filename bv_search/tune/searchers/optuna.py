"""Optuna's samplers, asked define-by-run: nested choices handed to it as a dictionary arrive unresolved."""

import math
from abc import abstractmethod
from warnings import catch_warnings, simplefilter

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.exceptions import ExperimentalWarning
from optuna.samplers import BaseSampler, GPSampler, TPESampler
from optuna.study import StudyDirection
from optuna.trial import Trial, TrialState, create_trial

from bv_search.space.distribution import Choice, Distribution, LogUniform, QUniform, RandInt, Value
from bv_search.space.space import Draws, Space
from bv_search.tune.searchers.searcher import Fits, Searcher, Size

MAXIMIZE, MINIMIZE = StudyDirection.MAXIMIZE, StudyDirection.MINIMIZE


class Optuna(Searcher):
    """A study is made anew for every question, of what is told and pending: so it does not matter when."""

    startup_points = 10

    def __init__(
        self, space: Space, seed: int, fits: Fits = lambda draws: True, size: Size | None = None
    ) -> None:
        super().__init__(space, seed, fits, size)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._distributions = {path: _typed(each) for path, each in space.parameters().items()}

    @abstractmethod
    def _sampler(self, seed: int) -> BaseSampler: ...

    def _propose(self, number: int, rng: np.random.Generator) -> Draws | None:
        sampler = self._sampler(int(rng.integers(2**31 - 1)))
        directions = [MAXIMIZE] if self.size is None else [MAXIMIZE, MINIMIZE]
        study = optuna.create_study(directions=directions, sampler=sampler)
        for draws, score in self.told.values():
            values = self._values(draws, score)
            study.add_trial(self._trial(draws, state=TrialState.COMPLETE, values=values))
        for draws in self.pending.values():
            study.add_trial(self._trial(draws, state=TrialState.RUNNING))
        trial = study.ask()
        return self.space.draw(lambda path, distribution: _suggest(trial, path, distribution))

    def _values(self, draws: Draws, score: float) -> list[float]:
        """Sizes by their logarithm: a head half as large is as much smaller, wherever it stands."""
        return [score] if self.size is None else [score, math.log(self.size(draws))]

    def _trial(
        self, draws: Draws, *, state: TrialState, values: list[float] | None = None
    ) -> optuna.trial.FrozenTrial:
        typed = {path: self._distributions[path] for path in draws}
        return create_trial(params=dict(draws), distributions=typed, state=state, values=values)


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
