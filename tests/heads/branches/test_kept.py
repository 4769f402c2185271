"""Dense layers on what dropout leaves, several at once: what each says by itself."""

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from bv_search.heads.branches.dropout import Dropout
from bv_search.heads.branches.kept import FEW_OUTPUTS, Reading, lay_out, read_kept

ROWS, STEP = 20, 7

LAID_OUT: dict[str, Callable[[Tensor], Tensor]] = {
    "inputs apart": lambda x: x,
    "inputs side by side": lambda x: x.transpose(0, 1).contiguous().transpose(0, 1),
    "later rows": lambda x: torch.cat([x, x], dim=1)[:, ROWS:],
    "turned": lambda x: x.transpose(1, 2).contiguous().transpose(1, 2),
    "one for all": lambda x: x[:, :1].expand(-1, ROWS, -1),
}


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def some_readings(denses: Sequence[Tensor]) -> list[Reading]:
    """Of an input several, of different rates, sizes and parts."""
    places = [(0, 0), (1, 2), (0, 3), (0, 0)]
    return [
        Reading.at(place, dense_FC, Dropout(rate=0.2 + 0.2 * n, seed=n, branch=1), n % 2)
        for n, (place, dense_FC) in enumerate(zip(places, denses, strict=True))
    ]


def by_hand(x_MTX: Tensor, readings: Sequence[Reading], denses: Sequence[Tensor]) -> list[Tensor]:
    found = []
    for reading, dense_FC in zip(readings, denses, strict=True):
        features_TF = x_MTX[reading.input, :, reading.start : reading.start + len(dense_FC)]
        found.append(reading.dropout(features_TF, STEP, reading.part) @ dense_FC)
    return found


@pytest.mark.parametrize("width", [1, 12, 33])
@pytest.mark.parametrize("laid_out", LAID_OUT)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])  # compiled, and not
@pytest.mark.parametrize("outputs", [3, FEW_OUTPUTS + 1])  # so are few, and many not
def test_each_reads_what_is_left_of_its_own(
    width: int, laid_out: str, dtype: torch.dtype, outputs: int
) -> None:
    x_MTX = LAID_OUT[laid_out](some(2, ROWS, width + 3).to(dtype)).detach().requires_grad_()
    denses = [
        some(size, outputs, seed=size).to(dtype).requires_grad_() for size in (width, width + 1, width, 1)
    ]
    readings = some_readings(denses)
    grad_KTC = some(len(denses), ROWS, outputs).to(dtype)
    grad_KTC[1, 4] = 0.0
    expected, found = (
        torch.stack(read) for read in (by_hand(x_MTX, readings, denses), read_kept(x_MTX, readings, STEP))
    )
    torch.testing.assert_close(found, expected)
    wanted = (x_MTX, *denses)
    for one, other in zip(
        torch.autograd.grad(found, wanted, grad_KTC),
        torch.autograd.grad(expected, wanted, grad_KTC),
        strict=True,
    ):
        torch.testing.assert_close(one, other)


@pytest.mark.parametrize("outputs", [3, FEW_OUTPUTS + 1])
def test_sixteen_bits_are_read_as_the_numbers_that_they_are(outputs: int) -> None:
    x_MTX = some(2, ROWS, 15).bfloat16()
    denses = [some(size, outputs, seed=size) for size in (12, 13, 12, 1)]
    narrow, wide = (read_kept(x, some_readings(denses), STEP) for x in (x_MTX, x_MTX.float()))
    assert all(map(torch.equal, narrow, wide))


@pytest.mark.parametrize("laid_out", LAID_OUT)
def test_layers_are_found_however_they_lie_in_memory(laid_out: str) -> None:
    hidden_LTH = LAID_OUT[laid_out](some(2, ROWS, 5))
    x_MTX, places = lay_out(hidden_LTH)
    for hidden_TH, (number, start) in zip(hidden_LTH, places, strict=True):
        assert torch.equal(x_MTX[number, :, start : start + 5], hidden_TH)
