"""Trials are woken with news of their heads, the best first."""

from types import SimpleNamespace
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import FIFOScheduler

from bv_search.tune.lot import Lot
from bv_search.tune.parking import Parking
from bv_search.tune.thin_trial import FAILURE, NEWS, TRIAL


class Desk:
    """News of one pack, once."""

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


def test_a_rung_hears_its_best_score_before_it_judges_the_others() -> None:
    news = {
        "worst": {"score": 0.1},
        "broken": {FAILURE: "a bug", "done": True},
        "best": {"score": 0.9},
        "middle": {"score": 0.5},
    }
    parked = {name: paused(name) for name in news}
    controller: Any = SimpleNamespace(get_live_trials=lambda: list(parked.values()))
    desk: Any = Desk(news)
    lot = Lot(capacity=4, live=set(news), parked=set(news), exhausted=True)
    parking = Parking(FIFOScheduler(), desk=desk, lot=lot, news={})

    woken = []
    while trial := parking.choose_trial_to_run(controller):
        woken.append((trial.config[TRIAL], trial.config[NEWS]))
        parking.on_trial_result(controller, trial, {"score": 0.0})
        lot.parked.add(trial.config[TRIAL])

    assert woken == [(name, news[name]) for name in ("best", "middle", "worst", "broken")]
