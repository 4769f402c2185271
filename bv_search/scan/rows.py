"""The rows of a split as a scan goes through them: block by block, or out of memory.

Where windows have many tokens, a micro-batch of 16 fills the machine, and a block after the other comes from
the disk. Where a window is one token, that would be a dozen tiny operations a step: there the split stays in
memory, and a step takes the whole batch of its heads. Positions count micro-batches in either case.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from bv_search.heads.inputs import Inputs, States
from bv_search.scan.batch import Batch, WantedStates, batches, owned_batches
from bv_search.scan.capacity import free_memory
from bv_search.scan.order import parts, pass_length, rows_at, shuffled
from bv_search.store.block import Part
from bv_search.store.joined import AnySplit
from bv_search.store.layout import MICRO_BATCH

LOOK = 1024  # windows at a time, where nothing is learned from them
SHARE = 0.25  # of the free memory, for rows as heads read them


class Rows(ABC):
    """A split, and how its readers want the states."""

    def __init__(self, split: AnySplit, wanted: WantedStates) -> None:
        self.split, self.wanted, self.device = split, wanted, wanted.device
        self.seed = split.store.manifest.seed

    @abstractmethod
    def step_windows(self, batch: int) -> int:
        """How many windows heads of such a batch take at once."""

    @abstractmethod
    def stretch(self, rows: int, start: int, stop: int, batch: int, *, begun: int = 0) -> Iterator[Batch]:
        """Positions [start, stop) of a way through the first `rows` windows, again and again.

        Heads of such a batch count their steps from `begun`.
        """

    @abstractmethod
    def seen(self, rows: int, position: int) -> int:
        """Windows that were read on such a way."""

    @abstractmethod
    def all(self) -> Iterator[Batch]:
        """Every window once, in the order of the index."""

    @abstractmethod
    def owned(self, owners_N: np.ndarray) -> Iterator[Batch]:
        """Every window that has an owner (0 or above) once; those of a batch have the same one."""


def open_rows(split: AnySplit, wanted: WantedStates) -> Rows:
    kind = RowsInMemory if split.store.manifest.one_token else RowsOfBlocks
    return kind(split, wanted)


class RowsOfBlocks(Rows):
    """Micro-batches of blocks that are read in turn; later passes go through the blocks in another order."""

    def step_windows(self, batch: int) -> int:
        return MICRO_BATCH

    def stretch(self, rows: int, start: int, stop: int, batch: int, *, begun: int = 0) -> Iterator[Batch]:
        plan = parts(self.split.block_windows, rows=rows, start=start, stop=stop, seed=self.seed)
        return batches(self.split, list(plan), self.wanted)

    def seen(self, rows: int, position: int) -> int:
        return rows_at(self.split.block_windows, rows=rows, position=position, seed=self.seed)

    def all(self) -> Iterator[Batch]:
        return batches(self.split, whole(self.split), self.wanted)

    def owned(self, owners_N: np.ndarray) -> Iterator[Batch]:
        return owned_batches(self.split, owners_N, self.wanted)


class RowsInMemory(Rows):
    """One token a window: all stay, as heads read them where that fits; later passes are shuffled by row."""

    def __init__(self, split: AnySplit, wanted: WantedStates) -> None:
        super().__init__(split, wanted)
        self._blocks = [block.hidden_LTH for block in split.read(whole(split))]
        self._ends = np.cumsum([hidden_LTH.shape[1] for hidden_LTH in self._blocks])
        self._wide: dict[Inputs, Tensor] | None = None
        if self._fits():
            states = wanted.states(np.concatenate(self._blocks, axis=1))
            # a row's channels side by side: it is copied in one piece, and all channels are one wide matrix
            self._wide = {
                inputs: wide_LNH.transpose(0, 1).contiguous() for inputs, wide_LNH in states.items()
            }
            self._blocks = []

    def step_windows(self, batch: int) -> int:
        return batch

    def stretch(self, rows: int, start: int, stop: int, batch: int, *, begun: int = 0) -> Iterator[Batch]:
        """A step ends where a pass does. What is left of a step that was cut comes first."""
        length = pass_length(rows)
        for number in range(start // length, -(-stop // length)):
            low, high = max(start - number * length, 0), min(stop - number * length, length)
            order = shuffled(rows, self.seed, number)[low * MICRO_BATCH : high * MICRO_BATCH]
            done = max(start - max(begun, number * length), 0) * MICRO_BATCH % batch
            steps = range(-done, len(order), batch)
            yield from (self._batch(order[max(n, 0) : n + batch]) for n in steps)

    def seen(self, rows: int, position: int) -> int:
        passes, rest = divmod(position, pass_length(rows))
        return passes * rows + min(rest * MICRO_BATCH, rows)

    def all(self) -> Iterator[Batch]:
        for start in range(0, self.split.windows, LOOK):
            yield self._batch(np.arange(start, min(start + LOOK, self.split.windows)))

    def owned(self, owners_N: np.ndarray) -> Iterator[Batch]:
        for owner in np.unique(owners_N[owners_N >= 0]):
            own = np.flatnonzero(owners_N == owner)
            yield from (self._batch(own[start : start + LOOK]) for start in range(0, len(own), LOOK))

    def _batch(self, windows: np.ndarray) -> Batch:
        ones_N = torch.ones(len(windows), dtype=torch.int64, device=self.device)
        return Batch(windows=windows, lengths_N=ones_N, states=self._take(windows))

    def _take(self, windows: np.ndarray) -> States:
        if self._wide is None:
            return self.wanted.states(self._raw(windows))
        chosen_N = torch.from_numpy(windows).to(self.device)
        taken = ((inputs, wide_NLH.index_select(0, chosen_N)) for inputs, wide_NLH in self._wide.items())
        return {inputs: hidden_NLH.transpose(0, 1) for inputs, hidden_NLH in taken}

    def _raw(self, windows: np.ndarray) -> np.ndarray:
        """Rows out of the blocks as they are stored, mapped or not."""
        layers, _, width = self._blocks[0].shape
        raw_LNH = np.empty((layers, len(windows), width), self._blocks[0].dtype)
        numbers = np.searchsorted(self._ends, windows, side="right")
        for number in np.unique(numbers):
            here = np.flatnonzero(numbers == number)
            first = self._ends[number] - self._blocks[number].shape[1]
            raw_LNH[:, here] = self._blocks[number][:, windows[here] - first]
        return raw_LNH

    def _fits(self) -> bool:
        numbers = sum(hidden_LTH.size for hidden_LTH in self._blocks)
        each = self.wanted.dtype.itemsize * len(self.wanted.inputs)
        return numbers * each <= SHARE * free_memory(self.device)


def whole(split: AnySplit) -> list[Part]:
    return [Part(block=n, start=0, stop=windows) for n, windows in enumerate(split.block_windows)]
