"""Values in 16 bits."""

import numpy as np
import pytest
import torch

from bv_search.errors import StoreError, UnknownName
from bv_search.store.dtype import finite, narrow, refuse_overflow, stored_dtype, widen

EDGES = np.array([0.0, -0.0, 1.0, -1.5, 3.14159, 65504.0, 1e-8, 1e38, -1e38], np.float32)


@pytest.mark.parametrize("values", [EDGES, np.random.default_rng(0).normal(size=5000).astype(np.float32)])
def test_bfloat16_is_rounded_as_torch_does(values: np.ndarray) -> None:
    expected = torch.from_numpy(values).to(torch.bfloat16)
    stored = narrow(values, "bfloat16")
    assert stored.dtype == np.dtype("<u2")
    np.testing.assert_array_equal(widen(stored, "bfloat16"), expected.float().numpy())


def test_float16_keeps_its_own_values() -> None:
    values = np.arange(-2048, 2048, dtype=np.float32)
    np.testing.assert_array_equal(widen(narrow(values, "float16"), "float16"), values)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("value", [np.inf, -np.inf, np.nan, -np.nan])
def test_what_is_no_number_is_found(dtype: str, value: float) -> None:
    values = np.random.default_rng(0).normal(size=100).astype(np.float32)
    assert finite(narrow(values, dtype), dtype)
    values[57] = value
    assert not finite(narrow(values, dtype), dtype)


@pytest.mark.parametrize("value", [70000.0, -70000.0])
def test_an_overflow_is_refused_with_its_channel(value: float) -> None:
    hidden_LTH = np.zeros((2, 4, 3), np.float32)
    hidden_LTH[1, 2, 1] = value
    with pytest.raises(StoreError, match=r"'layer 7' does not fit float16.*--dtype bfloat16"):
        refuse_overflow(narrow(hidden_LTH, "float16"), "float16", ("layer 3", "layer 7"), "somewhere")
    refuse_overflow(narrow(hidden_LTH, "bfloat16"), "bfloat16", ("layer 3", "layer 7"), "somewhere")


def test_another_dtype_is_unknown() -> None:
    with pytest.raises(UnknownName, match="did you mean 'float16'"):
        stored_dtype("float17")
