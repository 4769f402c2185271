"""Optuna's TPE, asked define-by-run: nested choices handed to it as a dictionary arrive unresolved."""

import optuna
from optuna.trial import Trial, TrialState

from bv_search.tune.distribution import Choice, Distribution, LogUniform, QUniform, RandInt, Value
from bv_search.tune.searchers.searcher import Searcher
from bv_search.tune.space import Draws, Space


class Optuna(Searcher):
    startup_points = 10

    def __init__(self, space: Space, seed: int) -> None:
        super().__init__(space, seed)
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        # the liar keeps a pack's points apart: they are all asked for before any is told
        sampler = optuna.samplers.TPESampler(
            seed=seed, n_startup_trials=self.startup_points, constant_liar=True
        )
        self._study = optuna.create_study(direction="maximize", sampler=sampler)
        self._trials: dict[str, Trial] = {}

    def ask(self, trial: str) -> Draws | None:
        own = self._trials[trial] = self._study.ask()
        return self.space.draw(lambda path, distribution: _suggest(own, path, distribution))

    def adopt(self, trial: str, draws: Draws) -> None:
        self._study.enqueue_trial(dict(draws))
        self.ask(trial)

    def tell(self, trial: str, score: float | None) -> None:
        own = self._trials.pop(trial)
        if score is None:
            self._study.tell(own, state=TrialState.FAIL)
        else:
            self._study.tell(own, score)


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
