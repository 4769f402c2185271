"""The seconds of fine-tuning, and what is told on its way."""

import time

import numpy as np
import pytest

from bv_search.encoder.training import Step
from bv_search.finetune.clock import TrainingClock, duration


def step(number: int, *, loss: float = 1.0, tokens: int = 100) -> Step:
    return Step(
        number=number,
        total=10,
        loss=loss,
        tokens=tokens,
        windows=np.arange(8),
        states=None,
        reached=(),
        met=None,
    )


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (3599.6, "1 h 0 min"), (7325, "2 h 2 min")],
)
def test_a_duration_has_two_units_at_most(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_scoring_does_not_count() -> None:
    clock = TrainingClock()
    began = time.monotonic()
    with clock.stopped():
        time.sleep(0.1)
    assert clock.seconds <= time.monotonic() - began - 0.1


def test_training_that_goes_on_counts_what_was_before() -> None:
    clock = TrainingClock(seconds=100.0, step=4)
    assert 100.0 <= clock.seconds < 101.0


def test_the_loss_is_smoothed_and_the_rest_is_told_from_the_steps_of_this_session() -> None:
    clock = TrainingClock(seconds=1e6, step=4)
    clock.count(step(5, loss=2.0))
    clock.count(step(6, loss=1.0))
    said = clock.describe(step(6))
    assert said.startswith("fine-tuning: step 6 of 10, loss 1.980, ")
    assert said.endswith("tokens/s, 0 s left"), "a million seconds before do not slow it"


def test_it_is_due_now_and_then() -> None:
    clock = TrainingClock()
    assert clock.is_due()
    assert not clock.is_due()
