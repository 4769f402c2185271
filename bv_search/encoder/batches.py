"""Which windows go together: like lengths, so that little of a batch is padding."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Indices = npt.NDArray[np.int64]

CHUNK_BATCHES = 32  # windows are sorted by length within chunks of so many batches


@dataclass(frozen=True, kw_only=True)
class TrainingPlan:
    """The order in which fine-tuning meets its windows: a pure function of lengths, batch and seed.

    An epoch is a seeded shuffle, cut into chunks; within a chunk windows are sorted by length and
    cut into batches, whose order is shuffled again. So the first f of an epoch is, up to one chunk, a
    uniform sample of the windows, and does not depend on how long training goes on.
    """

    lengths: tuple[int, ...]
    batch: int
    seed: int

    @property
    def steps_per_epoch(self) -> int:
        return -(-len(self.lengths) // self.batch)

    def step_of(self, fraction: float) -> int:
        """The step after which `fraction` epochs are done: at least one for any fraction above zero."""
        return max(1, round(fraction * self.steps_per_epoch)) if fraction > 0 else 0

    def batches(self, *, until: int) -> Iterator[Indices]:
        """The windows of steps 0 … until - 1."""
        for epoch in range(-(-until // self.steps_per_epoch)):
            left = until - epoch * self.steps_per_epoch
            yield from self._epoch(epoch)[:left]

    def met(self, *, until: int) -> Indices:
        """The windows that the steps before `until` have trained on, each once."""
        parts = list(self.batches(until=min(until, self.steps_per_epoch)))
        return np.unique(np.concatenate(parts)) if parts else np.zeros(0, np.int64)

    def _epoch(self, epoch: int) -> list[Indices]:
        rng = np.random.default_rng([self.seed, epoch])
        lengths = np.asarray(self.lengths)
        order = rng.permutation(len(lengths))
        size = self.batch * CHUNK_BATCHES
        batches: list[Indices] = []
        for start in range(0, len(order), size):
            chunk = order[start : start + size]
            chunk = chunk[np.argsort(lengths[chunk], kind="stable")]
            cut = [chunk[at : at + self.batch] for at in range(0, len(chunk), self.batch)]
            batches += [cut[at] for at in rng.permutation(len(cut))]
        return batches


def plan_inference(lengths: npt.NDArray[np.int32], *, tokens: int) -> Iterator[Indices]:
    """Batches of like length, of at most `tokens`; longest first, so that a lack of memory shows at once."""
    order = np.argsort(-lengths.astype(np.int64), kind="stable")
    start = 0
    while start < len(order):
        longest = max(int(lengths[order[start]]), 1)
        stop = start + max(1, tokens // longest)
        yield order[start:stop]
        start = stop


def read_tokens(windows: pa.Table, name: str = "token_ids") -> list[npt.NDArray[np.int64]]:
    """One list column of windows as arrays, without a Python object per token."""
    column = windows.column(name).combine_chunks()
    if isinstance(column, pa.ChunkedArray):
        column = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    offsets = column.offsets.to_numpy()
    values = column.values.to_numpy().astype(np.int64)
    return [values[start:stop] for start, stop in pairwise(offsets)]
