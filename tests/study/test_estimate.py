"""Seconds and bytes of steps grow as the work does."""

from pathlib import Path
from typing import Any

import pytest

from bv_search.heads.config import HeadShape
from bv_search.study.config import StudiesConfig
from bv_search.study.estimate import PREPARE, Cost, Estimate
from bv_search.study.rates import MachineRates
from bv_search.study.steps import EXCHANGE, EXTRACT, FINETUNE, SEARCH, WorkStep
from bv_search.tasks.row import Role

WINDOWS = {Role.TRAIN: 1000.0, Role.SELECT: 200.0, Role.REPORT: 300.0}
RATES = MachineRates(
    windows=WINDOWS,
    tokens=10.0,
    finetune=50.0,
    encode=500.0,
    cores=2,
    shape=HeadShape(layers=2, width=8, outputs=2, per_token=True, tokens=32),
    one_token=False,
    encoder_parameters=1000,
    encoder_bytes=4000,
)


def cost(step: WorkStep, **changes: Any) -> Cost:
    said = {"task": "squad2-span", "encoder": "bert", "out": Path("out"), "stages": (0.0, 0.5, 2.0)}
    return Estimate(config=StudiesConfig(**{**said, **changes}), rates=RATES).of(step)


def test_fine_tuning_goes_to_the_last_stage_and_scores_each_that_learned() -> None:
    seconds, size = cost(WorkStep(kind=FINETUNE))
    assert seconds == pytest.approx(PREPARE + 2.0 * 1000 / 50 + 2 * 500 * 10 / (500 * 2))
    assert size == 3 * 4000


def test_extraction_encodes_every_window_once() -> None:
    step = WorkStep(kind=EXTRACT, stage=0.5)
    seconds, size = cost(step)
    assert seconds == pytest.approx(PREPARE + 1500 * 10 / (500 * 2))
    spared, left = cost(step, keep_stores=False)
    assert spared == seconds
    assert size - left == 1500 * 10 * RATES.token_bytes


def test_a_search_of_twice_the_trials_leaves_twice_the_bytes() -> None:
    step = WorkStep(kind=SEARCH, stage=0.5)
    (few, small), (many, large) = cost(step, trials=8), cost(step, trials=80)
    assert large == pytest.approx(10 * small)
    assert many > few


def test_without_stores_the_encoder_runs_for_every_exchange() -> None:
    step = WorkStep(kind=EXCHANGE, stage=0.5, scored=2.0)
    grid = {"space": {"head": {"kind": "pooling"}, "learning_rate": 0.01}}
    kept, live = (cost(step, heads=grid, keep_stores=each)[0] for each in (True, False))
    assert live - kept > 0.5 * 300 * 10 / (500 * 2)
