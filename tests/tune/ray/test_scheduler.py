"""Trials are woken with news of their heads."""

from types import SimpleNamespace
from typing import Any, cast

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from bv_search.tune.packing import FAILURE, GOES_ON, TRIAL
from bv_search.tune.ray.scheduler import LiveTrials, RayScheduler
from bv_search.tune.ray.trainable import NEWS


class Dispatcher:
    """News of one round, once."""

    def __init__(self, news: dict[str, Any]) -> None:
        self._news = news

    def collect(self, *, wait: float | None = 0.0) -> dict[str, Any]:
        news, self._news = self._news, {}
        return news

    def dispatch(self, *, all_are_in: bool) -> None:
        """Nothing waits."""

    def park(self, trial: str, config: dict[str, Any]) -> None:
        """It waits for good."""

    def heard_of(self, trial: str) -> None: ...


class TuneTrial:
    def __init__(self, name: str) -> None:
        self.config: dict[str, Any] = {TRIAL: name}
        self.status = Trial.PENDING
        self.run_metadata = SimpleNamespace(metric_analysis={"score": {}}, metric_n_steps={"score": {}})

    def set_config(self, config: dict[str, Any]) -> None:
        self.config = config

    def set_status(self, status: str) -> None:
        self.status = status


def pause(trial: TuneTrial, *, should_checkpoint: bool) -> None:
    trial.status = Trial.PAUSED


def news_of(score: float, *, goes_on: bool, done: bool = False) -> dict[str, Any]:
    return {"score": score, "loss": 0.5, "rows": 160, "done": done, GOES_ON: goes_on}


def wake_all(news: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What trials were woken with, and those that Tune lets go on."""
    controller: Any = SimpleNamespace(pause_trial=pause)
    dispatcher: Any = Dispatcher(news)
    trials = LiveTrials(capacity=4, live=set(news), exhausted=True)
    scheduler = RayScheduler(dispatcher=dispatcher, trials=trials)
    for name in news:
        scheduler.on_trial_add(controller, trial := cast("Trial", TuneTrial(name)))
        assert trial.status == Trial.PAUSED, "it needs no process"
    woken, going = {}, []
    while trial := scheduler.choose_trial_to_run(controller):
        name = trial.config[TRIAL]
        woken[name] = trial.config[NEWS]
        if woken[name]["done"]:
            scheduler.on_trial_complete(controller, trial, woken[name])
            assert not trial.run_metadata.metric_n_steps, "there may be ten thousand"
            trials.live.discard(name)
            continue
        said = scheduler.on_trial_result(controller, trial, woken[name])
        if said == TrialScheduler.NOOP:
            going.append(name)
        else:
            trials.live.discard(name)
    assert not trials.news, "all is told once"
    return woken, going


def test_every_trial_of_a_round_hears_what_was_decided() -> None:
    news: dict[str, Any] = {
        "worst": news_of(0.1, goes_on=False),
        "broken": {FAILURE: "a bug", "done": True},
        "best": news_of(0.9, goes_on=True),
        "learned": news_of(0.8, goes_on=False, done=True),
    }
    assert wake_all(news) == (news, ["best"])


def test_a_searcher_hears_of_a_whole_pack_before_it_is_asked_again() -> None:
    """It was asked once more after each trial of a pack that ended, and knew of those before it alone."""
    trials = LiveTrials(capacity=2, live={"1", "2"}, parked={"1", "2"}, news={"1": {}, "2": {}})
    trials.live.discard("1")
    trials.parked.discard("1")
    del trials.news["1"]
    assert trials.has_room
    assert not trials.admits, "trial 2 has something to tell"
    del trials.news["2"]
    assert trials.admits


def test_news_of_trials_that_did_not_begin_again_yet_keep_none_from_beginning() -> None:
    """A resumed run brings news along for trials that it is still to begin."""
    assert LiveTrials(capacity=2, news={"1": {}}).admits


def test_trials_with_news_are_not_still() -> None:
    trials = LiveTrials(capacity=1, live={"1"}, parked={"1"})
    assert trials.is_still
    trials.news["1"] = {}
    assert not trials.is_still
