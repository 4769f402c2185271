"""Hidden states in HDF5 as they are usually kept: every window padded to one length, a chunk each.

Read in shuffled batches, row by row: asking h5py for a list of rows at once is a hundred times slower.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bv_search.errors import UserError


class PaddedFile:
    def __init__(self, path: Path, shape: tuple[int, ...], dtype: str) -> None:
        """`shape`: of all windows."""
        self.path, self.shape, self.dtype = path, shape, np.dtype(dtype)

    def write(self, windows: Iterable[np.ndarray]) -> None:
        with _h5py().File(self.path, "w") as file:
            data = file.create_dataset("hidden", self.shape, self.dtype, chunks=(1, *self.shape[1:]))
            for number, window in enumerate(windows):
                data[(number, *(slice(size) for size in window.shape))] = window

    def batches(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Numbers of windows in a random order, and their values, in memory that the next batch reuses."""
        order = np.random.default_rng(0).permutation(self.shape[0])
        buffer = np.empty((size, *self.shape[1:]), self.dtype)
        with _h5py().File(self.path, "r") as file:
            data = file["hidden"]
            for start in range(0, len(order), size):
                chosen = order[start : start + size]
                for place, row in enumerate(chosen):
                    data.read_direct(buffer, np.s_[row], np.s_[place])
                yield chosen, buffer[: len(chosen)]


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise UserError("h5py is not installed", do="pip install 'bv-search[bench]'") from error
    return h5py
