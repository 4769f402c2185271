"""The usual form of hidden states, which stores are compared with: HDF5, a padded window per chunk.

L layers, S positions of a padded window, T tokens of a window, H width, N windows of a batch.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bv_search.errors import UserError
from bv_search.store.layout import MICRO_BATCH


def write_padded(path: Path, windows: Iterable[np.ndarray], shape: tuple[int, int, int, int]) -> None:
    """Windows (L, T, H) as a data set (windows, L, S, H) of their own dtype."""
    with _open(path, "w") as file:
        data = None
        for number, window_LTH in enumerate(windows):
            if data is None:
                data = file.create_dataset("hidden", shape, window_LTH.dtype, chunks=(1, *shape[1:]))
            data[number, :, : window_LTH.shape[1]] = window_LTH


def shuffled_batches(path: Path) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Every row once, in random batches: numbers of rows, and hidden_NLSH, good until the next one.

    Rows are read one by one: a list of them at once is the slow way of h5py, and no measure of HDF5.
    """
    with _open(path, "r") as file:
        data = file["hidden"]
        order = np.random.default_rng(0).permutation(len(data))
        buffer_NLSH = np.empty((MICRO_BATCH, *data.shape[1:]), data.dtype)
        for start in range(0, len(order), MICRO_BATCH):
            rows = order[start : start + MICRO_BATCH]
            for place, row in enumerate(rows):
                data.read_direct(buffer_NLSH, np.s_[row], np.s_[place])
            yield rows, buffer_NLSH[: len(rows)]


def _open(path: Path, mode: str) -> Any:
    try:
        import h5py
    except ImportError as error:
        raise UserError("h5py is not installed", do="pip install 'bv-search[bench]'") from error
    return h5py.File(path, mode)
