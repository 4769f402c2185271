"""What is tried where a scan worker does not come back: together once more, then apart, then nothing."""

import pytest

from bv_search.heads.config import PoolingHead
from bv_search.scan.outcome import Finalist, Start
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig
from bv_search.tune.errand import ATTEMPTS, Errand, FinalPack, LadderSolve, Scoring
from bv_search.tune.workers import LostCall

CONFIG = TrialConfig(head=PoolingHead(), training=TrainingConfig())
DIED = LostCall(reason="it died", worker_died=True)
GONE = LostCall(reason="its machine went", worker_died=True, machine_lost=True)
FAILED = LostCall(reason="no room", worker_died=False)


def errands(*trials: str) -> list[Errand]:
    finalists = (Finalist(trial=trial, config=CONFIG, position=0, copies=1) for trial in trials)
    return [
        LadderSolve(heads=tuple(Start(trial=trial, config=CONFIG) for trial in trials)),
        Scoring(heads=trials),
        FinalPack(heads=tuple(finalists)),
    ]


@pytest.mark.parametrize("errand", errands("a", "b"), ids=lambda errand: type(errand).__name__)
def test_two_go_together_once_more_and_then_apart(errand: Errand) -> None:
    (again,) = errand.after(DIED)
    assert (list(again.trials), again.losses) == (["a", "b"], 1)
    assert [list(part.trials) for part in again.after(DIED)] == [["a"], ["b"]]
    assert [part.losses for part in again.after(DIED)] == [0, 0]
    assert [list(part.trials) for part in errand.after(FAILED)] == [["a"], ["b"]], "it would fail again"


@pytest.mark.parametrize("errand", errands("a"), ids=lambda errand: type(errand).__name__)
def test_one_that_takes_its_workers_with_it_is_given_up(errand: Errand) -> None:
    for _ in range(ATTEMPTS - 1):
        (errand,) = errand.after(DIED)
    assert list(errand.after(DIED)) == []
    assert list(errand.after(FAILED)) == []


@pytest.mark.parametrize("errand", errands("a"), ids=lambda errand: type(errand).__name__)
def test_nobody_is_blamed_for_a_lost_machine(errand: Errand) -> None:
    for _ in range(5):
        (errand,) = errand.after(GONE)
    assert errand.losses == 0
