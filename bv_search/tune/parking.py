"""Parking: how ordinary Tune trials train in packs.

A trial that reports `parked` is paused, which frees its process, and its head waits in the pool. When nothing
else can happen, heads that wait go to the scan workers, in a round. Their trials are woken to report their
scores, and whether they go on: that was decided, and written down, when the last of them came back. Nothing
is sent on a timer: the pulse below only lets Tune's loop rest.
"""

from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from bv_search.tune.desk import Desk
from bv_search.tune.lot import PROCESSES, Lot
from bv_search.tune.thin_trial import GOES_ON, NEWS, PARKED, TRIAL

PULSE_SECONDS = 0.5  # Tune's loop does not rest where no trial runs: it would take a core from the heads


class Parking(FIFOScheduler):
    def __init__(self, *, desk: Desk, lot: Lot) -> None:
        super().__init__()
        self._desk = desk
        self._lot = lot

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles what it is given, to restore it later; a run resumes from its journal instead."""
        return {}

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        name = trial.config[TRIAL]
        if PARKED not in result:
            self._lot.news.pop(name, None)
            return str(TrialScheduler.CONTINUE if result[GOES_ON] else TrialScheduler.STOP)
        self._lot.parked.add(name)
        if name not in self._lot.news:
            self._desk.park(name, trial.config)
        # heads live in the run folder, so there is nothing in the process to save
        tune_controller.pause_trial(trial, should_checkpoint=False)
        return str(TrialScheduler.NOOP)

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        self._lot.news.pop(trial.config[TRIAL], None)

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Its process died: its head goes on in another one, where it can."""
        if self._desk.loses_process(trial.config[TRIAL]):
            self._lot.orphans.add(trial.config[TRIAL])
        else:
            self._lot.news.pop(trial.config[TRIAL], None)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """Ended while it was parked: by a time budget or from the keyboard."""
        self._lot.news.pop(trial.config[TRIAL], None)
        self._desk.leave(trial.config[TRIAL])

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        self._lot.news |= self._desk.collect()
        is_still = self._lot.is_still
        self._desk.dispatch(all_are_in=is_still)
        if is_still:
            self._lot.news |= self._desk.collect(wait=PULSE_SECONDS)
        return self._wake(tune_controller)

    def _wake(self, tune_controller: Any) -> Trial | None:
        if self._lot.moving >= PROCESSES:
            return None
        paused = {t.config[TRIAL]: t for t in tune_controller.get_live_trials() if t.status == Trial.PAUSED}
        name = next((name for name in self._lot.news if name in paused), None)
        if name is None:
            return None
        trial = paused[name]
        trial.set_config({**trial.config, NEWS: self._lot.news[name]})
        self._lot.parked.discard(name)
        return trial
