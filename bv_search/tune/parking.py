"""Parking: how ordinary Tune trials train in packs.

A trial that reports `parked` is paused, which frees its process, and its head waits in the pool. When a
pack is full, or when nothing else can happen, the heads that wait go to a scan worker as one segment.
Their scores are posted on the board, their trials are woken to report them, and the scheduler inside
(ASHA, or none) decides as it always does. Nothing waits on a timer.
"""

from typing import Any

import ray
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from bv_search.tune.board import PARKED, TRIAL
from bv_search.tune.desk import Desk
from bv_search.tune.lot import PROCESSES, Lot

PULSE_SECONDS = 0.5  # Tune's loop does not rest where no trial runs: it would take a core from the heads


class Parking(TrialScheduler):
    def __init__(self, inner: TrialScheduler, *, desk: Desk, lot: Lot, board: Any) -> None:
        super().__init__()
        self._inner = inner
        self._desk = desk
        self._lot = lot
        self._board = board
        self._posted: list[str] = []  # trials to be woken, the best first

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles what it is given, to restore it later; a run resumes from its journal instead."""
        return {}

    def set_search_properties(self, metric: str | None, mode: str | None, **spec: Any) -> bool:
        self._metric = metric
        return bool(self._inner.set_search_properties(metric, mode, **spec))

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        self._inner.on_trial_add(tune_controller, trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        if PARKED not in result:
            return str(self._inner.on_trial_result(tune_controller, trial, result))
        self._lot.parked.add(trial.config[TRIAL])
        self._desk.park(trial.config[TRIAL], trial.config)
        # heads live in the run folder, so there is nothing in the process to save
        tune_controller.pause_trial(trial, should_checkpoint=False)
        return str(TrialScheduler.NOOP)

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        self._inner.on_trial_complete(tune_controller, trial, result)
        self._desk.halt(trial.config[TRIAL], done=bool(result.get("last")))

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        self._inner.on_trial_error(tune_controller, trial)
        self._desk.fail(trial.config[TRIAL], "its trial process died")

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """Ended while it was parked: by a time budget or from the keyboard."""
        self._inner.on_trial_remove(tune_controller, trial)
        self._desk.leave(trial.config[TRIAL])

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        self._post(self._desk.collect())
        is_still = self._lot.is_still and not self._posted
        self._desk.dispatch(all_are_in=is_still)
        if is_still:
            self._post(self._desk.collect(wait=PULSE_SECONDS))
        return self._wake(tune_controller)

    def debug_string(self) -> str:
        return str(self._inner.debug_string())

    def _post(self, posts: dict[str, dict[str, Any]]) -> None:
        if posts:
            # on the board before any of their trials looks at it
            ray.get(self._board.post.remote(posts))
            # the best first: a rung then knows its best score when it judges the others
            self._posted += sorted(posts, key=lambda trial: -posts[trial].get("score", float("-inf")))

    def _wake(self, tune_controller: Any) -> Trial | None:
        paused = {t.config[TRIAL]: t for t in tune_controller.get_live_trials() if t.status == Trial.PAUSED}
        self._posted = [trial for trial in self._posted if trial in paused]
        if not self._posted or self._lot.moving >= PROCESSES:
            return None
        trial = self._posted.pop(0)
        self._lot.parked.discard(trial)
        return paused[trial]
