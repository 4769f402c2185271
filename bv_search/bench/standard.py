"""A store in batches, every feature with the mean 0 and the deviation 1 that it has on train.

As one writes it by hand: windows of spans block by block, first tokens of other tasks in memory.
T tokens of a batch back to back, N its windows, L channels, H width, D numbers of a label.
"""

from collections.abc import Iterator
from functools import cache

import numpy as np
import torch
from torch import Tensor

from bv_search.scan.batch import widen
from bv_search.scan.store_view import labels_of
from bv_search.store.store import Store
from bv_search.tasks.row import Role

CPU = torch.device("cpu")
CONSTANT = 1e-3  # of a feature's mean: a smaller deviation is the rounding of float16

Batch = tuple[Tensor, Tensor, Tensor]
"""hidden_LTH, lengths_N, labels_ND"""


class StandardBatches:
    """All tokens of spans, and of other tasks the first of each window."""

    def __init__(self, store: Store, windows: int) -> None:
        self.is_span = store.task.per_token
        self._store, self._windows = store, windows
        self._mean_L1H, self._deviation_L1H = self._measure()
        self._rows = cache(self._load)

    def read(self, role: Role, *, seed: int | None = None) -> Iterator[Batch]:
        """A seed shuffles rows in memory, and of spans the blocks."""
        return self._read_blocks(role, seed) if self.is_span else self._read_rows(role, seed)

    def _read_rows(self, role: Role, seed: int | None) -> Iterator[Batch]:
        hidden_NLH, labels_ND = self._rows(role)
        order_N = torch.arange(len(labels_ND))
        if seed is not None:
            order_N = torch.randperm(len(labels_ND), generator=torch.Generator().manual_seed(seed))
        for chosen_N in torch.split(order_N, self._windows):
            ones_N = torch.ones(len(chosen_N), dtype=torch.int64)
            yield hidden_NLH[chosen_N].transpose(0, 1), ones_N, labels_ND[chosen_N]

    def _load(self, role: Role) -> tuple[Tensor, Tensor]:
        """hidden_NLH and labels_ND."""
        batches = list(self._read_blocks(role, None))
        return (
            torch.cat([hidden_LTH.transpose(0, 1) for hidden_LTH, _, _ in batches]).contiguous(),
            torch.cat([labels_ND for _, _, labels_ND in batches]),
        )

    def _read_blocks(self, role: Role, seed: int | None) -> Iterator[Batch]:
        for hidden_LTH, lengths_N, labels_ND in self._raw(role, seed):
            yield (hidden_LTH - self._mean_L1H) / self._deviation_L1H, lengths_N, labels_ND

    def _raw(self, role: Role, seed: int | None = None) -> Iterator[Batch]:
        for split in self._store.splits(role):
            labels_ND = torch.from_numpy(labels_of(split))
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
        for hidden_LTH, *_ in self._raw(Role.TRAIN):
            exact_LTH = hidden_LTH.double()
            tokens += hidden_LTH.shape[1]
            sum_L1H = sum_L1H + exact_LTH.sum(dim=1, keepdim=True)
            squares_L1H = squares_L1H + exact_LTH.square().sum(dim=1, keepdim=True)
        mean_L1H = sum_L1H / tokens
        deviation_L1H = (squares_L1H / tokens - mean_L1H.square()).clamp(min=0).sqrt()
        deviation_L1H[deviation_L1H <= CONSTANT * mean_L1H.abs()] = 1.0
        return mean_L1H.float(), deviation_L1H.float()
