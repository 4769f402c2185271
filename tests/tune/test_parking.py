"""Trials are woken with news of their heads."""

from types import SimpleNamespace
from typing import Any

from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from bv_search.scan.trial import TrialConfig
from bv_search.tune.halving import Halving
from bv_search.tune.lot import Lot
from bv_search.tune.parking import Parking
from bv_search.tune.rungs import plan_rungs
from bv_search.tune.thin_trial import FAILURE, NEWS, TRIAL

CONFIG = TrialConfig.from_json({"head": {"kind": "pooling"}})
RUNGS = plan_rungs([CONFIG], 3300, halving=True, one_token=True)
PLACE = RUNGS.of(CONFIG)[0]


class Desk:
    """News of one pack, once."""

    def __init__(self, news: dict[str, Any]) -> None:
        self._news = news

    def config(self, trial: str) -> TrialConfig:
        return CONFIG

    def collect(self, *, wait: float | None = 0.0) -> dict[str, Any]:
        news, self._news = self._news, {}
        return news

    def halt(self, trial: str) -> None:
        """Nobody asks."""

    def dispatch(self, *, all_are_in: bool) -> None:
        """Nothing waits."""


def paused(name: str) -> Any:
    trial = SimpleNamespace(config={TRIAL: name}, status=Trial.PAUSED)
    trial.set_config = lambda config: setattr(trial, "config", config)
    return trial


def news_of(score: float, loss: float = 0.5, *, position: int = PLACE, done: bool = False) -> dict[str, Any]:
    return {"score": score, "loss": loss, "rows": 16 * position, "position": position, "done": done}


def wake_all(news: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """What trials were woken with, and those that the scheduler lets go on."""
    parked = {name: paused(name) for name in news}
    controller: Any = SimpleNamespace(get_live_trials=lambda: list(parked.values()))
    desk: Any = Desk(news)
    lot = Lot(capacity=4, live=set(news), parked=set(news), exhausted=True)
    parking = Parking(Halving(RUNGS), desk=desk, lot=lot)
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
    return woken, going


def test_a_rung_hears_every_score_of_a_pack_before_it_judges_a_head() -> None:
    news: dict[str, Any] = {
        "worst": news_of(0.1),
        "broken": {FAILURE: "a bug", "done": True},
        "best": news_of(0.9),
        "middle": news_of(0.5),
    }
    assert wake_all(news) == (news, ["best"])


def test_of_equal_scores_the_losses_decide() -> None:
    news = {"high": news_of(0.5, 0.9), "low": news_of(0.5, 0.2), "middle": news_of(0.5, 0.4)}
    assert wake_all(news) == (news, ["low"])


def test_one_that_learned_on_the_way_is_a_measure_for_those_that_come_to_the_rung() -> None:
    news = {
        "early": news_of(0.9, position=PLACE - 13, done=True),
        "late": news_of(0.5),
        "later": news_of(0.95),
    }
    assert wake_all(news) == (news, ["later"])
