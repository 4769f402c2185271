"""The way of the paper: a process for each head, which reads padded float32 windows from HDF5 at random."""

import multiprocessing
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from bv_search.bench.hdf5 import shuffled_batches
from bv_search.bench.plain import train_plain
from bv_search.scan.batch import Batch
from bv_search.scan.state import HeadState
from bv_search.tasks.task import Kind


@dataclass(frozen=True, kw_only=True)
class PaperWay:
    """A head's training on a file of padded windows; a new process can be told to do it."""

    file: Path
    labels_ND: np.ndarray
    kind: Kind
    threads: int

    def train(self, state: HeadState) -> None:
        train_plain(state, self._batches(), self.labels_ND, self.kind)

    def train_apart(self, state: HeadState) -> None:
        """In a process of its own, from its start to its end."""
        process = multiprocessing.get_context("spawn").Process(target=self._begin, args=(state.to_bytes(),))
        process.start()
        process.join()
        if process.exitcode:
            raise RuntimeError(f"a trial's process ended with status {process.exitcode}")

    def _begin(self, state: bytes) -> None:
        torch.set_num_threads(self.threads)
        self.train(HeadState.from_bytes(state))

    def _batches(self) -> Iterator[Batch]:
        for rows, values_NLSH in shuffled_batches(self.file):
            hidden_NLSH = torch.from_numpy(values_NLSH)
            yield Batch(
                windows=rows,  # labels go by them
                lengths_N=torch.full((len(rows),), hidden_NLSH.shape[2]),
                states={None: hidden_NLSH.transpose(0, 1).flatten(1, 2)},
            )
