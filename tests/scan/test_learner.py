"""A learner's steps: when one is due, and at which rate."""

import pytest
import torch

from bv_search.heads.config import HeadShape, PoolingHead
from bv_search.heads.inputs import Standard
from bv_search.scan.learner import Learner
from bv_search.scan.state import HeadState
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig

SHAPE = HeadShape(layers=2, width=4, outputs=2, per_token=True)


def learner(*, windows: int, **training: object) -> Learner:
    config = TrialConfig(
        head=PoolingHead(), training=TrainingConfig.from_json({"learning_rate": 1.0, "passes": 1, **training})
    )
    state = HeadState.fresh("a", config, SHAPE)
    standard = Standard.empty(SHAPE.layers, SHAPE.width)
    return Learner.attach(state, windows=windows, standard=standard, device=torch.device("cpu"))


def steps(each: Learner) -> list[tuple[int, float]]:
    """The position of each step, and its rate."""
    found, (copy,) = [], each.copies
    for _ in range(each.course.end):
        copy.saw(16)
        if copy.due:
            found.append((copy.position, round(copy.rate(), 4)))
    return found


def test_what_each_copy_learned_from_waits_for_the_next_step() -> None:
    config = TrialConfig(head=PoolingHead(), training=TrainingConfig(batch=48))
    state = HeadState.fresh("a", config, SHAPE, copies=3)
    standard = Standard.empty(SHAPE.layers, SHAPE.width)
    each = Learner.attach(state, windows=160, standard=standard, device=torch.device("cpu"))
    for copy, learned in zip(each.copies, ((10, 12), (16, 0), (6, 16)), strict=True):
        for windows in learned:
            copy.saw(16, windows)
    assert (each.position, each.detach().pending) == (2, (22, 16, 22))
    each.copies[0].stepped()
    assert each.detach().pending == (0, 16, 22)


def test_a_rate_is_what_its_schedule_says_in_the_middle_of_the_step() -> None:
    assert steps(learner(windows=64, schedule="linear")) == [(1, 0.875), (2, 0.625), (3, 0.375), (4, 0.125)]
    assert steps(learner(windows=64, schedule="linear", batch=32)) == [(2, 0.75), (4, 0.25)]
    assert steps(learner(windows=64, warmup=0.5)) == [(1, 0.25), (2, 0.75), (3, 1.0), (4, 1.0)]


def test_a_pass_ends_with_a_step_of_what_is_left() -> None:
    two_passes = learner(windows=80, schedule="linear", batch=64, passes=2)
    assert steps(two_passes) == [(4, 0.8), (5, 0.55), (9, 0.3), (10, 0.05)]


@pytest.mark.parametrize("schedule", ["constant", "linear", "cosine"])
@pytest.mark.parametrize("warmup", [0.0, 0.3])
def test_no_step_is_without_a_rate(schedule: str, warmup: float) -> None:
    for windows, batch in ((16, 16), (64, 64), (80, 32)):
        for _, rate in steps(learner(windows=windows, schedule=schedule, warmup=warmup, batch=batch)):
            assert 0.0 < rate <= 1.0


def test_a_constant_rate_is_constant() -> None:
    assert {rate for _, rate in steps(learner(windows=80, passes=3))} == {1.0}
