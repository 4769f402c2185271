"""Trials are woken with news of their heads."""

from types import SimpleNamespace
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from bv_search.tune.halving import Halving
from bv_search.tune.lot import Lot
from bv_search.tune.parking import Parking
from bv_search.tune.rungs import Rungs
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


def test_a_rung_hears_every_score_of_a_pack_before_it_judges_a_head() -> None:
    news: dict[str, Any] = {
        "worst": {"score": 0.1, "position": 48},
        "broken": {FAILURE: "a bug", "done": True},
        "best": {"score": 0.9, "position": 48},
        "middle": {"score": 0.5, "position": 48},
    }
    parked = {name: paused(name) for name in news}
    controller: Any = SimpleNamespace(get_live_trials=lambda: list(parked.values()))
    desk: Any = Desk(news)
    lot = Lot(capacity=4, live=set(news), parked=set(news), exhausted=True)
    halving = Halving(Rungs(windows=3300, positions=(48,), last=432))
    parking = Parking(halving, desk=desk, lot=lot, news={})

    woken, going = {}, []
    while trial := parking.choose_trial_to_run(controller):
        name = trial.config[TRIAL]
        woken[name] = trial.config[NEWS]
        said = parking.on_trial_result(controller, trial, {"position": 48, **woken[name]})
        going += [name] if said == TrialScheduler.CONTINUE and name != "broken" else []
        lot.parked.add(name)

    assert woken == news
    assert going == ["best"]
