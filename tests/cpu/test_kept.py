"""Compiled dense layers on what dropout leaves, against masks that are drawn and multiplied."""

import numpy as np
import pytest
import torch
from torch import Tensor

from bv_search.cpu import loops
from bv_search.cpu.kept import CompiledKept

ROWS, WIDTH, OUTPUTS = 9, 7, 3
PLACES = [(0, 0), (1, 2), (0, 3)]
SIZES = [7, 4, 3]
DRAWINGS = [loops.drawing(seed, rate) for seed, rate in ((1, 0.5), (2**40, 0.2), (3, 0.7))]


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.fixture
def denses() -> list[Tensor]:
    return [some(size, OUTPUTS, seed=size) for size in SIZES]


@pytest.fixture
def kept(denses: list[Tensor]) -> CompiledKept:
    return CompiledKept(denses, PLACES, DRAWINGS)


def mask(reading: int) -> Tensor:
    drawn = np.empty((ROWS, SIZES[reading]), np.float32)
    loops.draw_mask(drawn, DRAWINGS[reading])
    return torch.from_numpy(drawn)


def features(x_MTX: Tensor, reading: int) -> Tensor:
    number, start = PLACES[reading]
    return x_MTX[number, :, start : start + SIZES[reading]]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_each_reads_its_own_features_through_its_own_mask(
    kept: CompiledKept, denses: list[Tensor], dtype: torch.dtype
) -> None:
    x_MTX = some(2, ROWS, WIDTH).to(dtype)
    for n, out_TC in enumerate(kept.read(x_MTX)):
        torch.testing.assert_close(out_TC, (features(x_MTX, n).float() * mask(n)) @ denses[n])


def test_gradients_go_through_the_same_masks(kept: CompiledKept, denses: list[Tensor]) -> None:
    x_MTX, grad_KTC = some(2, ROWS, WIDTH), some(3, ROWS, OUTPUTS, seed=8)
    passed_MTX = torch.zeros_like(x_MTX)
    for n, learned in enumerate(kept.learn(x_MTX, grad_KTC)):
        torch.testing.assert_close(learned, (features(x_MTX, n) * mask(n)).t() @ grad_KTC[n])
        features(passed_MTX, n).add_((grad_KTC[n] @ denses[n].t()) * mask(n))
    torch.testing.assert_close(kept.pass_on(x_MTX, grad_KTC), passed_MTX)


def test_a_row_without_a_gradient_teaches_nothing(kept: CompiledKept) -> None:
    """Even where it holds what is no number."""
    x_MTX, grad_KTC = some(2, ROWS, WIDTH), some(3, ROWS, OUTPUTS, seed=8)
    grad_KTC[:, 4] = 0.0
    expected = kept.learn(x_MTX, grad_KTC)
    x_MTX[:, 4] = float("nan")
    torch.testing.assert_close(kept.learn(x_MTX, grad_KTC), expected)
    assert not kept.pass_on(x_MTX, grad_KTC)[:, 4].any()
