"""In which order rows are read: the store's own order first, blocks reshuffled in later passes.

A pass over the first `rows` windows is a sequence of micro-batches. None crosses a block, because blocks
hold a multiple of the micro-batch, so a pass always has ceil(rows / 16) of them, however it is shuffled.
Positions count micro-batches from the start of the first pass.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import ceil

import numpy as np

from bv_search.store.block import Part
from bv_search.store.layout import MICRO_BATCH


def pass_length(rows: int) -> int:
    """Micro-batches in a pass."""
    return ceil(rows / MICRO_BATCH)


def parts(block_windows: Sequence[int], *, rows: int, start: int, stop: int, seed: int) -> Iterator[Part]:
    """The parts of blocks that hold micro-batches `start` to `stop`."""
    length, windows = pass_length(rows), _prefix(block_windows, rows)
    for number in range(start // length, ceil(stop / length)):
        first = number * length
        yield from _parts_of_pass(
            windows,
            _block_order(len(windows), seed, number),
            max(start - first, 0) * MICRO_BATCH,
            min(stop - first, length) * MICRO_BATCH,
        )


def rows_at(block_windows: Sequence[int], *, rows: int, position: int, seed: int) -> int:
    """Windows seen at a position. The micro-batch that is not full comes where a pass puts its block."""
    whole = position // pass_length(rows)
    begun = whole * pass_length(rows)
    last = parts(block_windows, rows=rows, start=begun, stop=position, seed=seed)
    return whole * rows + sum(part.stop - part.start for part in last)


def shuffled(rows: int, seed: int, number: int) -> np.ndarray:
    """The order of single rows in a pass, where they are all in memory."""
    if number == 0:
        return np.arange(rows)
    return np.random.default_rng([seed, number]).permutation(rows)


def _prefix(block_windows: Sequence[int], rows: int) -> list[int]:
    """Windows of the first blocks that together hold `rows`, the last one cut."""
    firsts = accumulate(block_windows, initial=0)
    return [min(n, rows - first) for n, first in zip(block_windows, firsts, strict=False) if first < rows]


def _block_order(blocks: int, seed: int, number: int) -> list[int]:
    if number == 0:
        return list(range(blocks))
    return [int(block) for block in np.random.default_rng([seed, number]).permutation(blocks)]


def _parts_of_pass(windows: list[int], order: list[int], start: int, stop: int) -> Iterator[Part]:
    """`start` and `stop` count windows of a pass in which each block is rounded up to whole micro-batches."""
    first = 0
    for block in order:
        room = ceil(windows[block] / MICRO_BATCH) * MICRO_BATCH
        low, high = max(start - first, 0), min(stop - first, windows[block])
        if low < high:
            yield Part(block=block, start=low, stop=high)
        first += room
