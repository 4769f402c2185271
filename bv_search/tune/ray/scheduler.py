"""How ordinary Tune trials train in packs: they wait while their heads do.

A trial is paused from its beginning, so it takes no process, and its head waits in the dispatcher. When no
more can begin, heads that wait go to the scan workers, in a round. What becomes of them is decided, and
written down, when the last of them comes back: the trials of those that go on stay paused, all others are
stopped. Nothing is sent on a timer: the pulse below only lets Tune's loop rest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler

from bv_search.tune.dispatcher import Dispatcher
from bv_search.tune.packing import TRIAL, News

PULSE_SECONDS = 0.5  # Tune's loop does not rest where no trial runs: it would take a core from the heads


@dataclass
class LiveTrials:
    """Which trials are under way, each from its suggestion to its end, and what they are worth so far."""

    capacity: int  # trials under way at once: a pack for every worker
    live: set[str] = field(default_factory=set)
    scores: dict[str, float | None] = field(default_factory=dict)  # of one that failed, none
    exhausted: bool = False  # no trial will be suggested any more

    @property
    def admits(self) -> bool:
        """Whether another trial may begin. Until none may, those that wait will become more."""
        return not self.exhausted and len(self.live) < self.capacity


class RayScheduler(FIFOScheduler):
    def __init__(self, *, dispatcher: Dispatcher, trials: LiveTrials) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self._trials = trials
        self._paused: dict[str, Trial] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles what it is given, to restore it later; a run resumes from its journal instead."""
        return {}

    def on_trial_add(self, tune_controller: Any, trial: Trial) -> None:
        """Tune takes it as it is after this."""
        trial.set_status(Trial.PAUSED)
        self._paused[trial.config[TRIAL]] = trial
        self._park(trial)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """Ended: by what became of its head, by a time budget or from the keyboard."""
        del self._paused[trial.config[TRIAL]]
        self._dispatcher.leave(trial.config[TRIAL])

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        """None ever: heads are trained by scan workers."""
        self._dispatcher.dispatch(all_are_in=not self._trials.admits)
        self._hear(self._dispatcher.collect(wait=PULSE_SECONDS), tune_controller)
        return None

    def _hear(self, news: Mapping[str, News], tune_controller: Any) -> None:
        """All of a round at once: the searcher knows of all of them before it is asked again."""
        for name, each in news.items():
            self._trials.scores[name] = each.score
            if each.goes_on:
                self._park(self._paused[name])
            else:
                self._paused[name].run_metadata.last_result = {TRIAL: name, "score": each.score}
                tune_controller.stop_trial(self._paused[name])

    def _park(self, trial: Trial) -> None:
        self._dispatcher.park(trial.config[TRIAL], trial.config)
