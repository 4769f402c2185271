import numpy as np
import torch

from bv_search.finetune.running import SHARE, RunningStandard


def test_the_first_steps_count_alike() -> None:
    rng = np.random.default_rng(0)
    steps = [rng.normal(3.0, 2.0, size=(2, 5, 4)).astype(np.float32) for _ in range(6)]
    running = RunningStandard(2, 4, torch.device("cpu"))
    for hidden_LTH in steps:
        running.update(torch.from_numpy(hidden_LTH))
    all_LTH = np.concatenate(steps, axis=1)
    assert np.allclose(running.standard.mean_LH, all_LTH.mean(axis=1), atol=1e-5)
    assert np.allclose(running.standard.scale_LH, 1 / all_LTH.std(axis=1), rtol=1e-4)


def test_old_steps_fade() -> None:
    running = RunningStandard(1, 1, torch.device("cpu"))
    for value in [0.0] * 300 + [1.0] * round(3 / SHARE):
        running.update(torch.tensor([[[value], [value + 0.5]]]))
    assert abs(float(running.standard.mean_LH) - 1.25) < 0.1


def test_a_constant_feature_is_zero() -> None:
    running = RunningStandard(1, 2, torch.device("cpu"))
    for value in range(5):
        running.update(torch.tensor([[[8.0, float(value)], [8.0, 1.0]]]))
    assert running.standard.scale_LH[0, 0] == 0
    assert running.standard.scale_LH[0, 1] > 0


def test_frozen_numbers_stay_and_restored_ones_go_on() -> None:
    one, other = (RunningStandard(1, 2, torch.device("cpu")) for _ in range(2))
    steps = torch.from_numpy(np.random.default_rng(1).normal(size=(4, 1, 3, 2)).astype(np.float32))
    one.update(steps[0])
    frozen = one.frozen()
    one.update(steps[1])
    assert not frozen.equals(one.standard)
    other.restore({name: tensor.clone() for name, tensor in one.state().items()})
    for running in (one, other):
        running.update(steps[2])
    assert one.standard.equals(other.standard)
