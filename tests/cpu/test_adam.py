"""Adam's step, compiled, against its formula in double precision."""

import numpy as np
import pytest

from bv_search.cpu.adam import EPSILON, MEAN_DECAY, SQUARE_DECAY, step

SIZE = 12
BEFORE = ("weights", "gradient", "mean", "square", "average")


def some_memory() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    memory = {name: rng.normal(size=SIZE).astype(np.float32) for name in BEFORE}
    return memory | {"square": np.abs(memory["square"])}


def step_of(memory: dict[str, np.ndarray], *tensors: tuple[int, int, tuple[float, ...]]) -> None:
    starts, stops, numbers = zip(*tensors, strict=True)
    step(*memory.values(), (np.array(starts), np.array(stops), np.array(numbers, np.float32)))


def test_a_step_is_that_of_the_formula() -> None:
    share, correction, rate, decay, new = 0.25, 1.5, 0.01, 0.9, 0.3
    memory = some_memory()
    before = {name: values.astype(np.float64) for name, values in memory.items()}
    step_of(memory, (0, SIZE, (share, correction, rate, decay, new)))

    slope = before["gradient"] * share
    mean = MEAN_DECAY * before["mean"] + (1 - MEAN_DECAY) * slope
    square = SQUARE_DECAY * before["square"] + (1 - SQUARE_DECAY) * slope**2
    weights = before["weights"] * decay - rate * mean / (np.sqrt(square) * correction + EPSILON)
    average = before["average"] + new * (weights - before["average"])
    for name, expected in (("mean", mean), ("square", square), ("weights", weights), ("average", average)):
        np.testing.assert_allclose(memory[name], expected, rtol=1e-5, atol=1e-6)
    assert not memory["gradient"].any(), "the next step begins with none"


def test_tensors_that_are_not_due_stay_as_they_are() -> None:
    memory, numbers = some_memory(), (1.0, 1.0, 0.1, 1.0, 1.0)
    before = {name: values.copy() for name, values in memory.items()}
    step_of(memory, (2, 5, numbers), (9, 10, numbers))
    due = np.zeros(SIZE, np.bool_)
    due[[2, 3, 4, 9]] = True
    for name, values in memory.items():
        assert ((values != before[name]) == due).all(), name


@pytest.mark.parametrize("new", [0.0, 1.0])
def test_the_running_mean_takes_its_share_of_the_new_weights(new: float) -> None:
    memory = some_memory()
    before = memory["average"].copy()
    step_of(memory, (0, SIZE, (1.0, 1.0, 0.1, 1.0, new)))
    np.testing.assert_allclose(memory["average"], memory["weights"] if new else before, rtol=1e-5, atol=1e-6)
