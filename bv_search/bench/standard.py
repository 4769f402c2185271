"""A store's blocks in batches, every feature with the mean 0 and the deviation 1 that it has on train.

T tokens of a batch back to back, N its windows, L channels, H width, D numbers of a label.
"""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from bv_search.scan.batch import widen
from bv_search.scan.ground import train_split
from bv_search.store.store import Store, StoreSplit
from bv_search.tasks.row import Role
from bv_search.tasks.task import Kind

CPU = torch.device("cpu")
CONSTANT = 1e-6  # of a feature's mean: a smaller deviation is rounding

Batch = tuple[Tensor, Tensor, Tensor]
"""hidden_LTH, lengths_N, labels_ND"""


class StandardBatches:
    """All tokens of spans, and of other tasks the first of each window."""

    def __init__(self, store: Store, windows: int) -> None:
        self.is_span = store.task.kind is Kind.SPAN
        self._store, self._windows = store, windows
        self._mean_L1H, self._deviation_L1H = self._measure()

    def read(self, role: Role, *, seed: int | None = None) -> Iterator[Batch]:
        """A seed shuffles the blocks; what is in a block is a random sample anyway."""
        for split in self._store.splits(role):
            for hidden_LTH, lengths_N, labels_ND in self._raw(split, seed):
                yield (hidden_LTH - self._mean_L1H) / self._deviation_L1H, lengths_N, labels_ND

    def _raw(self, split: StoreSplit, seed: int | None = None) -> Iterator[Batch]:
        labels_ND = torch.from_numpy(np.stack(split.index_columns(["label"])["label"].to_numpy()))
        blocks = np.arange(len(split.block_windows))
        order = blocks if seed is None else np.random.default_rng(seed).permutation(blocks)
        for block in split.blocks(order=order.tolist()):
            ends = np.concatenate([[0], np.cumsum(block.lengths)])
            for low in range(0, block.windows, self._windows):
                high = min(low + self._windows, block.windows)
                lengths = block.lengths[low:high] if self.is_span else np.ones(high - low, np.int64)
                tokens = slice(ends[low], ends[high]) if self.is_span else ends[low:high]
                rows = slice(block.first_window + low, block.first_window + high)
                yield widen(block.hidden_LTH[:, tokens], CPU), torch.tensor(lengths), labels_ND[rows]

    def _measure(self) -> tuple[Tensor, Tensor]:
        """Of every feature on train the mean and the deviation: 1 for what never changes."""
        tokens, sum_L1H, squares_L1H = 0, torch.zeros(()), torch.zeros(())
        for hidden_LTH, *_ in self._raw(train_split(self._store)):
            exact_LTH = hidden_LTH.double()
            tokens += hidden_LTH.shape[1]
            sum_L1H = sum_L1H + exact_LTH.sum(dim=1, keepdim=True)
            squares_L1H = squares_L1H + exact_LTH.square().sum(dim=1, keepdim=True)
        mean_L1H = sum_L1H / tokens
        deviation_L1H = (squares_L1H / tokens - mean_L1H.square()).clamp(min=0).sqrt()
        deviation_L1H[deviation_L1H <= CONSTANT * mean_L1H.abs()] = 1.0
        return mean_L1H.float(), deviation_L1H.float()
