"""Parking: how ordinary Tune trials train in packs.

A trial that reports `parked` is paused, which frees its process, and its head waits in the pool. When a
pack is full, or when nothing else can happen, the heads that wait go to a scan worker as one segment.
Their trials are woken to report their scores, and the scheduler inside decides which of them go on.
Nothing is sent on a timer: the pulse below only lets Tune's loop rest.
"""

from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from bv_search.scan.checks import Check
from bv_search.tune.desk import Desk
from bv_search.tune.halving import Halving
from bv_search.tune.lot import PROCESSES, Lot
from bv_search.tune.thin_trial import FAILURE, NEWS, PARKED, TRIAL, News

PULSE_SECONDS = 0.5  # Tune's loop does not rest where no trial runs: it would take a core from the heads


class Parking(TrialScheduler):
    def __init__(self, inner: Halving, *, desk: Desk, lot: Lot) -> None:
        super().__init__()
        self._inner = inner
        self._desk = desk
        self._lot = lot

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles what it is given, to restore it later; a run resumes from its journal instead."""
        return {}

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        self._metric = metric
        return bool(self._inner.set_search_properties(metric, mode, **spec))

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        self._inner.on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        name = trial.config[TRIAL]
        if PARKED not in result:
            self._lot.news.pop(name, None)
            return str(self._inner.on_trial_result(tune_controller, trial, result))
        self._lot.parked.add(name)
        if name not in self._lot.news:
            self._desk.park(name, trial.config)
        # heads live in the run folder, so there is nothing in the process to save
        tune_controller.pause_trial(trial, should_checkpoint=False)
        return str(TrialScheduler.NOOP)

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        self._inner.on_trial_complete(tune_controller, trial, result)
        self._lot.news.pop(trial.config[TRIAL], None)
        self._desk.halt(trial.config[TRIAL])

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Its process died: its head goes on in another one, where it can."""
        self._inner.on_trial_error(tune_controller, trial)
        if self._desk.loses_process(trial.config[TRIAL]):
            self._lot.orphans.add(trial.config[TRIAL])
        else:
            self._lot.news.pop(trial.config[TRIAL], None)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """Ended while it was parked: by a time budget or from the keyboard."""
        self._inner.on_trial_remove(tune_controller, trial)
        self._lot.news.pop(trial.config[TRIAL], None)
        self._desk.leave(trial.config[TRIAL])

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        self._hear(self._desk.collect())
        is_still = self._lot.is_still
        self._desk.dispatch(all_are_in=is_still)
        if is_still:
            self._hear(self._desk.collect(wait=PULSE_SECONDS))
        return self._wake(tune_controller)

    def debug_string(self) -> str:
        return str(self._inner.debug_string())

    def _hear(self, news: dict[str, News]) -> None:
        for trial, heard in news.items():
            if FAILURE not in heard:
                position, done = heard["position"], heard["done"]
                found = Check(position=position, rows=heard["rows"], score=heard["score"], loss=heard["loss"])
                self._inner.hear(trial, self._desk.config(trial), found, position=position, done=done)
        self._lot.news |= news

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
