"""Successive halving, asynchronous (ASHA): of the heads that came to a rung, the best third goes on.

Ray's ASHA judges a head by those that reported before it. Heads of a pack come to a rung together: told best
first, it kept one of 32; told worst first, all. Here a rung knows all their scores before it judges one.
"""

from math import ceil
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from bv_search.tune.rungs import REDUCTION, Rungs
from bv_search.tune.thin_trial import TRIAL


class Halving(FIFOScheduler):
    """Without rungs, every head goes on to its end."""

    def __init__(self, rungs: Rungs) -> None:
        super().__init__()
        self._scores: dict[int, dict[str, float]] = {position: {} for position in rungs.positions}

    def hear(self, trial: str, position: int, score: float) -> None:
        """What a head scored where it stands, before any that came there with it is judged."""
        if position in self._scores:
            self._scores[position][trial] = score

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        goes_on = self.goes_on(trial.config[TRIAL], result["position"])
        return str(TrialScheduler.CONTINUE if goes_on else TrialScheduler.STOP)

    def goes_on(self, trial: str, position: int) -> bool:
        """Of equal heads all or none."""
        scores = self._scores.get(position, {})
        if trial not in scores:
            return True
        better = sum(score > scores[trial] for score in scores.values())
        return better < ceil(len(scores) / REDUCTION)
