"""The usual file of hidden states: padded, and read in random batches."""

from pathlib import Path

import numpy as np
import pytest

from bv_search.bench.hdf5 import shuffled_batches, write_padded


def test_the_usual_file_gives_every_window_once_padded(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    windows = [np.full((2, 1 + n % 5, 3), n + 1, np.float32) for n in range(40)]
    write_padded(tmp_path / "x.h5", windows, (40, 2, 6, 3))
    met = []
    for rows, values_NLSH in shuffled_batches(tmp_path / "x.h5"):
        met += rows.tolist()
        for row, values_LSH in zip(rows, values_NLSH, strict=True):
            length = windows[row].shape[1]
            np.testing.assert_array_equal(values_LSH[:, :length], windows[row])
            assert not values_LSH[:, length:].any()
    assert sorted(met) == list(range(40)) != met
