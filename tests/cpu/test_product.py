"""Which library does a product, and what it is given."""

from pathlib import Path

import pytest
from torch import Tensor

from bv_search.cpu.product import is_intel
from bv_search.heads.branches.product import GradientSum, product
from tests.heads.branches.test_product import SLICES, some


@pytest.mark.parametrize("of_x", SLICES)
@pytest.mark.parametrize("of_y", SLICES)
def test_what_stands_in_for_weights_is_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, of_x: str, of_y: str
) -> None:
    """oneDNN takes a hundred times as long over a slice: a lane of narrow adapters took minutes."""
    monkeypatch.setattr("bv_search.cpu.product.ONEDNN", True)
    dense: list[bool] = []

    def watched(x_RX: Tensor, weight_YX: Tensor, _: None) -> Tensor:
        dense.extend(each.is_contiguous() or each.t().is_contiguous() for each in (x_RX, weight_YX))
        return x_RX @ weight_YX.t()

    monkeypatch.setattr("bv_search.cpu.product.product", watched)
    for wide, narrow in ((12, 5), (5, 12)):
        part_RX, part_RY = SLICES[of_x](some(20, wide)), SLICES[of_y](some(20, narrow, seed=1))
        GradientSum().add(part_RX, part_RY)
    assert dense == [True] * 4


def test_weights_that_are_a_slice_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bv_search.cpu.product.ONEDNN", True)
    with pytest.raises(AssertionError, match="in one piece"):
        product(some(4, 3), SLICES["columns"](some(2, 3)))


@pytest.mark.parametrize(("make", "intel"), [("GenuineIntel", True), ("AuthenticAMD", False)])
def test_the_make_of_a_cpu_is_read(tmp_path: Path, make: str, intel: bool) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text(f"processor : 0\nvendor_id : {make}\n")
    assert is_intel(cpuinfo) is intel
