"""Trials wait while their heads are trained, and hear what became of them."""

from typing import Any

from ray.tune.experiment import Trial

from bv_search.tune.packing import TRIAL, News
from bv_search.tune.ray.scheduler import LiveTrials, RayScheduler


class Dispatcher:
    """News of one round, once."""

    def __init__(self, news: dict[str, News]) -> None:
        self._news = news
        self.waiting: list[str] = []
        self.rounds: list[bool] = []  # whether all were in, each time it was asked

    def collect(self, *, wait: float | None = 0.0) -> dict[str, News]:
        news, self._news = self._news, {}
        return news

    def dispatch(self, *, all_are_in: bool) -> None:
        self.rounds.append(all_are_in)
        if all_are_in:
            self.waiting.clear()

    def park(self, trial: str, config: dict[str, Any]) -> None:
        self.waiting.append(trial)

    def leave(self, trial: str) -> None:
        assert trial not in self.waiting


class TuneTrial(Trial):
    def __init__(self, name: str) -> None:
        super().__init__("head", stub=True, config={TRIAL: name})


class Controller:
    """As Tune stops a trial that is paused."""

    def __init__(self) -> None:
        self.stopped: dict[str, Any] = {}

    def stop_trial(self, trial: Trial) -> None:
        assert trial.status == Trial.PAUSED
        self.stopped[trial.config[TRIAL]] = trial.last_result["score"]
        self.scheduler.on_trial_remove(self, trial)

    scheduler: RayScheduler


def scheduler_of(news: dict[str, News], trials: LiveTrials) -> tuple[RayScheduler, Controller, Dispatcher]:
    dispatcher: Any = Dispatcher(news)
    controller = Controller()
    scheduler = controller.scheduler = RayScheduler(dispatcher=dispatcher, trials=trials)
    for name in news:
        trials.live.add(name)
        trial = TuneTrial(name)
        scheduler.on_trial_add(controller, trial)
        assert trial.status == Trial.PAUSED, "it needs no process"
    return scheduler, controller, dispatcher


def test_every_trial_of_a_round_hears_what_was_decided() -> None:
    news = {
        "worst": News(score=0.1, goes_on=False),
        "broken": News(score=None, goes_on=False),
        "best": News(score=0.9, goes_on=True),
        "learned": News(score=0.8, goes_on=False),
    }
    trials = LiveTrials(capacity=4)
    scheduler, controller, dispatcher = scheduler_of(news, trials)
    assert dispatcher.waiting == list(news)
    assert scheduler.choose_trial_to_run(controller) is None, "no trial is run"
    assert controller.stopped == {"worst": 0.1, "broken": None, "learned": 0.8}
    assert dispatcher.waiting == ["best"]
    assert trials.scores == {name: each.score for name, each in news.items()}


def test_a_round_begins_when_no_more_trials_can() -> None:
    trials = LiveTrials(capacity=2)
    scheduler, controller, dispatcher = scheduler_of({"a": News(score=0.5, goes_on=True)}, trials)
    scheduler.choose_trial_to_run(controller)
    trials.live.add("b")
    scheduler.choose_trial_to_run(controller)
    trials.live.clear()
    trials.exhausted = True
    scheduler.choose_trial_to_run(controller)
    assert dispatcher.rounds == [False, True, True]


def test_there_is_room_for_so_many_trials() -> None:
    trials = LiveTrials(capacity=2, live={"1"})
    assert trials.admits
    trials.live.add("2")
    assert not trials.admits
