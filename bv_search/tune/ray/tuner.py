"""Ray Tune keeps the trials, and leaves the heads to the dispatcher."""

import logging
import os
import shutil
from pathlib import Path
from typing import Any

from ray import tune

from bv_search.tune.budget import Budget
from bv_search.tune.ray.scheduler import RayScheduler
from bv_search.tune.ray.searcher import RaySearcher

TUNE_SETTINGS = {
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the journal and MLflow log
    "TUNE_GLOBAL_CHECKPOINT_S": "1e9",  # nobody reads the state that Tune would write again and again
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # an interrupt is the command's to answer
    "RAY_AIR_NEW_OUTPUT": "0",
}


class _Parked(tune.Trainable):
    """What a trial would run: it is paused from its beginning to its end."""


class _BudgetStopper(tune.Stopper):
    """Tune asks it whether to go on."""

    def __init__(self, budget: Budget) -> None:
        self._budget = budget

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles what it is given, to restore it later; a run resumes from its journal instead."""
        return {}

    def __call__(self, trial_id: str, result: dict[str, Any]) -> bool:
        """No trial is stopped for itself."""
        return False

    def stop_all(self) -> bool:
        return self._budget.is_spent


def run_trials(budget: Budget, searcher: RaySearcher, scheduler: RayScheduler, storage: Path) -> None:
    """By Ray Tune, until no more are suggested or the budget is spent."""
    os.environ.update(TUNE_SETTINGS)
    # it would miss machines that trials could run on
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
    tuner = tune.Tuner(
        _Parked,
        tune_config=tune.TuneConfig(search_alg=searcher, scheduler=scheduler, num_samples=-1),
        run_config=tune.RunConfig(
            name="tune", storage_path=str(storage.resolve()), stop=_BudgetStopper(budget), verbose=0
        ),
    )
    try:
        tuner.fit()
    finally:  # a run resumes from its journal: nobody reads what Tune keeps
        shutil.rmtree(storage, ignore_errors=True)
