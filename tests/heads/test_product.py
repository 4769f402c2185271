"""Matrix products are torch's, by whatever library."""

from pathlib import Path

import pytest
import torch
from torch import Tensor

from bv_search.heads.branches import product as products
from bv_search.heads.branches.product import add_gradient, is_intel, no_gradient, product, turned


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize(("rows", "wide", "narrow"), [(50, 12, 7), (1, 3, 2), (16, 2, 2)])
def test_products_are_matrix_products(
    monkeypatch: pytest.MonkeyPatch, onednn: bool, rows: int, wide: int, narrow: int
) -> None:
    monkeypatch.setattr(products, "ONEDNN", onednn)
    x_RX, y_RY, bias_Y = some(rows, wide), some(rows, narrow, seed=1), some(narrow, seed=2)
    weight_YX = some(narrow, wide, seed=3)
    torch.testing.assert_close(product(x_RX, weight_YX, bias_Y), x_RX @ weight_YX.t() + bias_Y)
    for one, other in ((x_RX, y_RY), (turned(x_RX), y_RY), (y_RY, x_RX)):
        total = no_gradient((one.shape[1], other.shape[1]), one)
        for _ in range(2):
            add_gradient(total, one, other)
        torch.testing.assert_close(total, 2 * one.t() @ other)


@pytest.mark.parametrize(("make", "intel"), [("GenuineIntel", True), ("AuthenticAMD", False)])
def test_the_make_of_a_cpu_is_read(tmp_path: Path, make: str, intel: bool) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor : 0\nvendor_id : {make}\n")
    assert is_intel(cpuinfo) is intel
