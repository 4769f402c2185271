"""Which precision a machine is faster at."""

import pytest
import torch

from bv_search import precision as module
from bv_search.command import AUTO
from bv_search.precision import PRECISIONS, choose_precision, dtype_of

CPU = torch.device("cpu")


@pytest.mark.parametrize("asked", PRECISIONS)
def test_what_is_asked_for_is_not_measured(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(module, "_measure")
    assert choose_precision(asked, CPU).precision == asked


@pytest.mark.parametrize(("gain", "expected"), [(2.0, "bfloat16"), (1.0, "float32"), (0.1, "float32")])
def test_16_bits_are_taken_where_they_gain(
    gain: float, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = {"float32": 1.0, "bfloat16": 1.0 / gain}
    monkeypatch.setattr(module, "_measure", lambda precisions, device, multiply: seconds)
    choice = choose_precision(AUTO, CPU)
    assert choice.precision == expected
    assert f"{gain:.1f} times as fast" in str(choice)


def test_a_machine_is_measured_by_the_products_that_it_is_told() -> None:
    dtypes = []

    def multiply(x_RX: torch.Tensor, weight_YX: torch.Tensor) -> torch.Tensor:
        dtypes.append((x_RX.dtype, weight_YX.dtype))
        return x_RX @ weight_YX.to(x_RX.dtype).t()

    assert choose_precision(AUTO, CPU, multiply).precision in PRECISIONS
    assert {x for x, _ in dtypes} == {torch.float32, torch.bfloat16}
    assert {weight for _, weight in dtypes} == {torch.float32}, "weights stay as they are"


def test_every_precision_is_a_type_of_torch() -> None:
    assert [dtype_of(name).itemsize for name in PRECISIONS] == [4, 2, 2]
