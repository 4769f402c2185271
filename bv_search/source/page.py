"""A block that is filled in memory, and stays there.

L channels, T tokens of a block back to back, H width.
"""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from bv_search.encoder.encoder import Encoder
from bv_search.source.channels import Channels
from bv_search.source.fill import fill_block
from bv_search.store.dtype import refuse_overflow, stored_dtype


class BlockInMemory:
    def __init__(self, channels: Channels, lengths: np.ndarray) -> None:
        self.starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        shape = (len(channels.layers), int(self.starts[-1]), channels.width)
        self.hidden_LTH = np.empty(shape, stored_dtype(channels.dtype))

    def filled(self, windows: Iterable[int]) -> None: ...


def fill_page(
    encoder: Encoder, channels: Channels, windows: pa.Table, batch_tokens: int, where: str
) -> tuple[BlockInMemory, list[np.ndarray] | None]:
    """What extraction writes of these windows, and the encoder's own logits, if it has any."""
    page = BlockInMemory(channels, windows["tokens"].to_numpy())
    logits = fill_block(encoder, channels, windows, page, batch_tokens)
    refuse_overflow(page.hidden_LTH, channels.dtype, channels.layers, where)
    return page, logits
