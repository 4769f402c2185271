"""Trials are woken with news of their heads."""

from types import SimpleNamespace
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from bv_search.tune.lot import Lot
from bv_search.tune.parking import Parking
from bv_search.tune.thin_trial import FAILURE, GOES_ON, NEWS, TRIAL


class Desk:
    """News of one round, once."""

    def __init__(self, news: dict[str, Any]) -> None:
        self._news = news

    def collect(self, *, wait: float | None = 0.0) -> dict[str, Any]:
        news, self._news = self._news, {}
        return news

    def dispatch(self, *, all_are_in: bool) -> None:
        """Nothing waits."""


def paused(name: str) -> Any:
    trial = SimpleNamespace(config={TRIAL: name}, status=Trial.PAUSED)
    trial.set_config = lambda config: setattr(trial, "config", config)
    return trial


def news_of(score: float, *, goes_on: bool, done: bool = False) -> dict[str, Any]:
    return {"score": score, "loss": 0.5, "rows": 160, "done": done, GOES_ON: goes_on}


def wake_all(news: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What trials were woken with, and those that Tune lets go on."""
    parked = {name: paused(name) for name in news}
    controller: Any = SimpleNamespace(get_live_trials=lambda: list(parked.values()))
    desk: Any = Desk(news)
    lot = Lot(capacity=4, live=set(news), parked=set(news), exhausted=True)
    parking = Parking(desk=desk, lot=lot)
    woken, going = {}, []
    while trial := parking.choose_trial_to_run(controller):
        name = trial.config[TRIAL]
        woken[name] = trial.config[NEWS]
        if woken[name]["done"]:
            parking.on_trial_complete(controller, trial, woken[name])
            lot.live.discard(name)
            continue
        said = parking.on_trial_result(controller, trial, woken[name])
        going += [name] if said == TrialScheduler.CONTINUE else []
        lot.parked.add(name)
    assert not lot.news, "all is told once"
    return woken, going


def test_every_trial_of_a_round_hears_what_was_decided() -> None:
    news: dict[str, Any] = {
        "worst": news_of(0.1, goes_on=False),
        "broken": {FAILURE: "a bug", "done": True},
        "best": news_of(0.9, goes_on=True),
        "learned": news_of(0.8, goes_on=False, done=True),
    }
    assert wake_all(news) == (news, ["best"])
