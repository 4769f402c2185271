"""Matrix products are torch's, by whatever library."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from bv_search.cpu.product import turned
from bv_search.heads.branches.product import GradientSum, product


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize(("rows", "wide", "narrow"), [(50, 12, 7), (1, 3, 2), (16, 2, 2)])
def test_products_are_matrix_products(
    monkeypatch: pytest.MonkeyPatch, onednn: bool, rows: int, wide: int, narrow: int
) -> None:
    monkeypatch.setattr("bv_search.cpu.product.ONEDNN", onednn)
    x_RX, y_RY, bias_Y = some(rows, wide), some(rows, narrow, seed=1), some(narrow, seed=2)
    weight_YX = some(narrow, wide, seed=3)
    torch.testing.assert_close(product(x_RX, weight_YX, bias_Y), x_RX @ weight_YX.t() + bias_Y)
    for one, other in ((x_RX, y_RY), (turned(x_RX), y_RY), (y_RY, x_RX)):
        total = GradientSum()
        for _ in range(2):
            total.add(one, other)
        torch.testing.assert_close(total.sum(), 2 * one.t() @ other)


SLICES: dict[str, Callable[[Tensor], Tensor]] = {
    "columns": lambda x: torch.cat([x, x, x], dim=1)[:, x.shape[1] : 2 * x.shape[1]],
    "rows": lambda x: torch.cat([x, x, x])[len(x) : 2 * len(x)],
    "a layer of channels side by side": lambda x: torch.stack([x, x, x], dim=1)[:, 1],
    "a layer of channels apart": lambda x: torch.stack([x, x, x])[1],
    "turned": lambda x: x.t().contiguous().t(),
    "a turned slice": lambda x: torch.cat([x.t(), x.t()], dim=1).t()[: len(x)],
    "every other": lambda x: torch.stack([x, x], dim=2)[:, :, 0],
}


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize("slice_of", SLICES)
def test_parts_of_larger_tensors_are_matrices_like_others(
    monkeypatch: pytest.MonkeyPatch, onednn: bool, slice_of: str
) -> None:
    monkeypatch.setattr("bv_search.cpu.product.ONEDNN", onednn)
    for wide, narrow in ((12, 5), (5, 12), (6, 6), (1, 4)):
        x_RX, y_RY, weight_YX = some(20, wide), some(20, narrow, seed=1), some(narrow, wide, seed=2)
        part_RX = SLICES[slice_of](x_RX)
        assert torch.equal(part_RX, x_RX)
        torch.testing.assert_close(product(part_RX, weight_YX), x_RX @ weight_YX.t())
        for part_RY in (cut(y_RY) for cut in SLICES.values()):
            total_XY = GradientSum()
            for _ in range(2):
                total_XY.add(part_RX, part_RY)
            torch.testing.assert_close(total_XY.sum(), 2 * x_RX.t() @ y_RY)


def test_products_of_16_bits_come_out_with_32() -> None:
    x_RX, y_RY, bias_Y = some(50, 12).bfloat16(), some(50, 7, seed=1), some(7, seed=2)
    weight_YX = some(7, 12, seed=3)
    found_RY = product(x_RX, weight_YX, bias_Y)
    assert found_RY.dtype == torch.float32
    torch.testing.assert_close(found_RY, x_RX.float() @ weight_YX.t() + bias_Y, rtol=0.02, atol=0.05)
    total = GradientSum()
    for _ in range(2):
        total.add(x_RX, y_RY)
    assert total.sum().dtype == torch.float32
    torch.testing.assert_close(total.sum(), 2 * x_RX.float().t() @ y_RY, rtol=0.02, atol=0.2)
