"""How ordinary Tune trials train in packs: they wait while their heads do.

A trial is paused from its beginning, so it needs no process, and its head waits in the dispatcher. When
nothing else can happen, heads that wait go to the scan workers, in a round. Their trials are woken to report
their scores, and whether they go on: that was decided, and written down, when the last of them came back.
Those that go on are paused again.
Nothing is sent on a timer: the pulse below only lets Tune's loop rest.
"""

from dataclasses import dataclass, field
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler, TrialScheduler

from bv_search.tune.dispatcher import Dispatcher
from bv_search.tune.packing import GOES_ON, TRIAL, News
from bv_search.tune.ray.trainable import NEWS

PROCESSES = 1  # trials that hold a process at a time: one serves a hundred in a second, and starts in one
PULSE_SECONDS = 0.5  # Tune's loop does not rest where no trial runs: it would take a core from the heads


@dataclass
class LiveTrials:
    """Which trials are under way, each from its suggestion to its end, and which of them are parked."""

    capacity: int  # trials under way at once: a pack for every worker
    live: set[str] = field(default_factory=set)
    parked: set[str] = field(default_factory=set)
    orphans: set[str] = field(default_factory=set)  # their process died: they begin again, where they stand
    news: dict[str, News] = field(default_factory=dict)  # that their trials have not reported yet
    exhausted: bool = False  # no trial will be suggested any more

    @property
    def moving(self) -> int:
        """Trials that hold a process, or wait for one."""
        return len(self.live) - len(self.parked)

    @property
    def has_room(self) -> bool:
        return len(self.live) < self.capacity

    @property
    def admits(self) -> bool:
        """Whether another trial may begin now: a searcher hears of all of a pack before it is asked."""
        is_told = self.live.isdisjoint(self.news)
        return is_told and not self.exhausted and self.has_room and self.moving < PROCESSES

    @property
    def is_over(self) -> bool:
        """Told any earlier, Tune would end the process that the parked trials are woken in."""
        return self.exhausted and not self.live

    @property
    def is_still(self) -> bool:
        """Nothing moves, and nothing more can begin: what waits will not become more."""
        return self.moving == 0 and not self.news and (self.exhausted or not self.has_room)


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
        """Tune takes it as it is after this: paused, it waits for no process."""
        trial.init_local_path()  # in the end Tune asks where each one is, also one that was never woken
        trial.set_status(Trial.PAUSED)
        self._park(trial)

    def on_trial_result(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> str:
        name = trial.config[TRIAL]
        self._trials.news.pop(name, None)
        self._dispatcher.heard_of(name)
        if not result[GOES_ON]:
            return str(TrialScheduler.STOP)
        # heads live in the run folder, so there is nothing in the process to save
        tune_controller.pause_trial(trial, should_checkpoint=False)
        self._park(trial)
        return str(TrialScheduler.NOOP)

    def _park(self, trial: Trial) -> None:
        name = trial.config[TRIAL]
        self._trials.parked.add(name)
        self._paused[name] = trial
        if name not in self._trials.news:
            self._dispatcher.park(name, trial.config)

    def on_trial_complete(self, tune_controller: Any, trial: Trial, result: dict[str, Any]) -> None:
        """Tune keeps its trials to the end, with forty kilobytes of means of all that they reported."""
        self._trials.news.pop(trial.config[TRIAL], None)
        trial.run_metadata.metric_analysis.clear()
        trial.run_metadata.metric_n_steps.clear()

    def on_trial_error(self, tune_controller: Any, trial: Trial) -> None:
        """Its process died: its head goes on in another one, where it can."""
        if self._dispatcher.loses_process(trial.config[TRIAL]):
            self._trials.orphans.add(trial.config[TRIAL])
        else:
            self._trials.news.pop(trial.config[TRIAL], None)

    def on_trial_remove(self, tune_controller: Any, trial: Trial) -> None:
        """Ended while it was parked: by a time budget or from the keyboard."""
        self._trials.news.pop(trial.config[TRIAL], None)
        self._paused.pop(trial.config[TRIAL], None)
        self._dispatcher.leave(trial.config[TRIAL])

    def choose_trial_to_run(self, tune_controller: Any) -> Trial | None:
        self._trials.news |= self._dispatcher.collect()
        is_still = self._trials.is_still
        self._dispatcher.dispatch(all_are_in=is_still)
        if is_still:
            self._trials.news |= self._dispatcher.collect(wait=PULSE_SECONDS)
        return self._wake()

    def _wake(self) -> Trial | None:
        if self._trials.moving >= PROCESSES:
            return None
        name = next((name for name in self._trials.news if name in self._paused), None)
        if name is None:
            return None
        trial = self._paused.pop(name)
        trial.set_config({**trial.config, NEWS: self._trials.news[name]})
        self._trials.parked.discard(name)
        return trial
