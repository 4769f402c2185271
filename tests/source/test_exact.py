"""Matmuls are exact for a while, and then what they were."""

from collections.abc import Iterator

import pytest
import torch

from bv_search.source.exact import exact_matmuls


@pytest.fixture(autouse=True)
def rounding() -> Iterator[None]:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    yield
    torch.set_float32_matmul_precision(before)


def test_nothing_is_rounded_off_inside() -> None:
    with exact_matmuls():
        assert torch.get_float32_matmul_precision() == "highest"
    assert torch.get_float32_matmul_precision() == "medium"


def test_it_ends_with_an_error_too() -> None:
    with pytest.raises(ZeroDivisionError), exact_matmuls():
        raise ZeroDivisionError
    assert torch.get_float32_matmul_precision() == "medium"
