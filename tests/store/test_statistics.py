"""Mean and deviation over the training rows, against NumPy on all values at once."""

import tracemalloc
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save

from bv_search.errors import StoreError
from bv_search.store.dtype import narrow, widen
from bv_search.store.statistics import PIECE_TOKENS, Moments, Statistics
from bv_search.store.store import Store
from tests.store.small import make_split, make_store

LAYERS, WIDTH = 3, 8
TOKENS = 2 * PIECE_TOKENS + 37
CUTS = {
    "one block": [0, TOKENS],
    "blocks": [0, 1, 40, 200, TOKENS],
    "tokens": range(TOKENS + 1),
}


def stored_values(dtype: str, seed: int = 0) -> np.ndarray:
    """Features with means and deviations of their own, far apart."""
    rng = np.random.default_rng(seed)
    mean_LH = rng.normal(size=(LAYERS, 1, WIDTH)) * 30
    deviation_LH = 10 ** rng.uniform(-1, 2, size=(LAYERS, 1, WIDTH))
    values = rng.normal(size=(LAYERS, TOKENS, WIDTH)) * deviation_LH + mean_LH
    return narrow(values.astype(np.float32), dtype)


def measure(stored_LTH: np.ndarray, dtype: str, cuts: "list[int] | range") -> Statistics:
    blocks = [Moments.of(stored_LTH[:, start:stop], dtype) for start, stop in pairwise(cuts)]
    return Statistics.of(blocks, dtype)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("cuts", CUTS.values(), ids=CUTS)
def test_they_are_those_of_the_widened_values(dtype: str, cuts: "list[int] | range") -> None:
    stored_LTH = stored_values(dtype)
    found = measure(stored_LTH, dtype, cuts)
    values_LTH = widen(stored_LTH, dtype).astype(np.float64)
    assert found.mean_LH.dtype == found.deviation_LH.dtype == np.float64
    np.testing.assert_allclose(found.mean_LH, values_LTH.mean(axis=1), rtol=1e-12)
    np.testing.assert_allclose(found.deviation_LH, values_LTH.std(axis=1), rtol=1e-12)
    standard_LTH = (values_LTH - found.mean_LH[:, None]) * found.scale_LH[:, None]
    np.testing.assert_allclose(standard_LTH.mean(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(standard_LTH.std(axis=1), 1, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_small_deviation_beside_a_large_mean_is_not_lost(dtype: str) -> None:
    """A sum of squares less the square of the sum would cancel."""
    values_LTH = np.full((1, 5000, 2), 2.0**8, np.float32)
    values_LTH[:, ::2] += 2.0**4
    found = measure(narrow(values_LTH, dtype), dtype, [0, 5000])
    np.testing.assert_allclose(found.mean_LH, 2.0**8 + 2.0**3, rtol=1e-15)
    np.testing.assert_allclose(found.deviation_LH, 2.0**3, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("value", [0.0, 0.1, -0.7, 1e-7, 333.3])
def test_a_feature_that_is_constant_but_for_rounding_has_deviation_0(dtype: str, value: float) -> None:
    """It goes to and fro between two values that stand beside each other."""
    bits_LTH = np.repeat(narrow(np.full((1, 1, 1), value, np.float32), dtype), 500, axis=1).view(np.uint16)
    bits_LTH[:, ::2] += 1
    assert len(np.unique(bits_LTH)) == 2
    constant = measure(bits_LTH.view(narrow(np.zeros(1, np.float32), dtype).dtype), dtype, [0, 500])
    assert (constant.deviation_LH == 0).all()
    assert (constant.scale_LH == 0).all()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_feature_that_varies_a_little_is_not_constant(dtype: str) -> None:
    values_LTH = np.ones((1, 500, 1), np.float32)
    values_LTH[:, ::2] += 2.0**-6 * (1 if dtype == "float16" else 4)
    assert (measure(narrow(values_LTH, dtype), dtype, [0, 500]).deviation_LH > 0).all()


def test_a_block_is_not_widened_whole() -> None:
    stored_LTH = np.ones((2, 4096, 256), np.float16)
    tracemalloc.start()
    Moments.of(stored_LTH, "float16")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < stored_LTH.nbytes / 2


def test_moments_come_back_as_they_were() -> None:
    moments = Moments.of(stored_values("float16"), "float16")
    again = Moments.from_bytes(moments.to_bytes())
    assert again.count == moments.count == TOKENS
    np.testing.assert_array_equal(again.mean_LH, moments.mean_LH)
    np.testing.assert_array_equal(again.square_LH, moments.square_LH)
    assert again.to_bytes() == moments.to_bytes()


def test_statistics_come_back_as_they_were() -> None:
    found = measure(stored_values("float16"), "float16", [0, TOKENS])
    again = Statistics.from_bytes(found.to_bytes(), (LAYERS, WIDTH), "there")
    np.testing.assert_array_equal(again.mean_LH, found.mean_LH)
    np.testing.assert_array_equal(again.deviation_LH, found.deviation_LH)
    assert again.to_bytes() == found.to_bytes()


def test_rows_that_lie_apart_are_saved_as_they_are() -> None:
    mean_HL = np.arange(6.0).reshape(3, 2)
    data = Statistics(mean_LH=mean_HL.T, deviation_LH=mean_HL.T).to_bytes()
    np.testing.assert_array_equal(Statistics.from_bytes(data, (2, 3), "there").mean_LH, mean_HL.T)


GOOD = np.ones((LAYERS, WIDTH))
Arrays = dict[str, np.ndarray]


def with_value(value: float) -> np.ndarray:
    changed = GOOD.copy()
    changed[1, 2] = value
    return changed


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"mean": GOOD}, "holds other arrays"),
        ({}, "found none"),
        ({"mean": GOOD, "deviation": GOOD, "count": GOOD}, "holds other arrays"),
        ({"mean": GOOD, "deviations": GOOD}, r"expected deviation float64 \(3, 8\), mean float64 \(3, 8\)"),
        ({"mean": GOOD, "deviation": GOOD[:2]}, r"found deviation float64 \(2, 8\), mean"),
        ({"mean": GOOD.astype(np.float32), "deviation": GOOD}, r"mean float32 \(3, 8\)"),
        ({"mean": with_value(np.nan), "deviation": GOOD}, "expected finite numbers"),
        ({"mean": GOOD, "deviation": with_value(np.inf)}, "expected finite numbers"),
        ({"mean": GOOD, "deviation": with_value(-1e-9)}, "no deviation below 0"),
    ],
)
def test_other_contents_are_refused_in_one_line(arrays: Arrays, said: str) -> None:
    with pytest.raises(StoreError, match=rf"^it/statistics\.safetensors: .*{said}.*--repair"):
        Statistics.from_bytes(save(arrays), (LAYERS, WIDTH), "it/statistics.safetensors")


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: b"{}", lambda data: b""])
def test_what_is_no_safetensors_is_refused_in_one_line(change: Callable[[bytes], bytes]) -> None:
    data = Statistics(mean_LH=GOOD, deviation_LH=GOOD).to_bytes()
    with pytest.raises(StoreError, match=r"^there: is damaged; expected safetensors; found .*--repair"):
        Statistics.from_bytes(change(data), (LAYERS, WIDTH), "there")


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_a_store_has_those_of_its_training_rows(tmp_path: Path, fmt: str, dtype: str) -> None:
    train, dev = make_split(), make_split(20, role="report", seed=1)
    make_store(tmp_path / "store", {"dev": dev, "train": train}, format=fmt, dtype=dtype)
    store = Store.open(tmp_path / "store")
    values_LTH = widen(narrow(np.concatenate(train.hidden, axis=1), dtype), dtype).astype(np.float64)
    np.testing.assert_allclose(store.statistics.mean_LH, values_LTH.mean(axis=1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(store.statistics.deviation_LH, values_LTH.std(axis=1), rtol=1e-12)


@pytest.mark.parametrize("change", [lambda data: data[:-1] + b"?", lambda data: None])
def test_damage_is_found_before_they_are_used(store: Store, change: Callable[[bytes], bytes | None]) -> None:
    path = Path(store.path) / "statistics.safetensors"
    changed = change(path.read_bytes())
    path.unlink()
    if changed is not None:
        path.write_bytes(changed)
    with pytest.raises(StoreError, match=r"statistics\.safetensors: is damaged; expected xxh3:.*--repair"):
        _ = store.statistics
