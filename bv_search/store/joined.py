"""Splits of a store, read as one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from itertools import accumulate, groupby

import numpy as np
import pyarrow as pa

from bv_search.store.block import Block, Part
from bv_search.store.layout import MICRO_BATCH
from bv_search.store.store import StoreSplit


class JoinedSplit:
    """One split after the other: each one's blocks and windows are numbered on from those before it.

    A pass over windows of many tokens goes by micro-batches, of which only the last may be short. So what a
    split but the last has behind its last full one, up to 15 windows, is left out there.
    """

    def __init__(self, splits: Sequence[StoreSplit]) -> None:
        self.store = splits[0].store
        self.name = "+".join(split.name for split in splits)
        self._splits = splits
        in_memory = self.store.manifest.one_token
        blocks = [split.block_windows if in_memory else _full(split) for split in splits[:-1]]
        blocks.append(splits[-1].block_windows)
        self.block_windows = tuple(windows for each in blocks for windows in each)
        self._windows = [sum(each) for each in blocks]
        self.windows = sum(self._windows)
        self._first_blocks = list(accumulate(map(len, blocks), initial=0))[:-1]
        self._first_windows = list(accumulate(self._windows, initial=0))[:-1]

    @cached_property
    def lengths(self) -> np.ndarray:
        """Stored tokens of every window."""
        owned = zip(self._splits, self._windows, strict=True)
        return np.concatenate([split.lengths[:windows] for split, windows in owned])

    def index_columns(self, columns: Sequence[str] | None) -> pa.Table:
        owned = zip(self._splits, self._windows, strict=True)
        return pa.concat_tables([split.index_columns(columns).slice(0, windows) for split, windows in owned])

    def read(self, parts: Sequence[Part]) -> Iterator[Block]:
        """Parts of blocks in the order asked for."""
        for owner, own in groupby(parts, self._owner):
            first_block, first_window = self._first_blocks[owner], self._first_windows[owner]
            there = [replace(part, block=part.block - first_block) for part in own]
            # mapped, not looped over: a name in a loop would keep a block while the next one is made
            yield from map(partial(_shifted, first_block, first_window), self._splits[owner].read(there))

    def _owner(self, part: Part) -> int:
        """The number of the split that a block is of."""
        return int(np.searchsorted(self._first_blocks, part.block, side="right")) - 1


AnySplit = StoreSplit | JoinedSplit


def _full(split: StoreSplit) -> list[int]:
    """Windows of its blocks that fill micro-batches: in its last one alone there may be others."""
    full = [windows // MICRO_BATCH * MICRO_BATCH for windows in split.block_windows]
    return [windows for windows in full if windows]


def _shifted(blocks: int, windows: int, block: Block) -> Block:
    return replace(block, number=block.number + blocks, first_window=block.first_window + windows)
