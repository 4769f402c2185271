"""Filling a block: its windows encoded in batches of like length, by a plan that the windows alone decide."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import torch

from bv_search.encoder.batches import plan_inference, read_tokens
from bv_search.encoder.encoder import Encoded, Encoder, autocast
from bv_search.source.channels import Channels
from bv_search.source.placer import Blank, Placer

WINDOW = ("token_ids", "type_ids")
"""Columns of an index that an encoder reads."""


def fill_block(
    encoder: Encoder, channels: Channels, windows: pa.Table, block: Blank, batch_tokens: int
) -> list[np.ndarray] | None:
    """Each batch is put into its place while the next is encoded. The encoder's own logits, if it has any."""
    with Placer(encoder, channels, block) as placer:
        for batch, encoded in encode_batches(encoder, windows, batch_tokens, channels.forward):
            placer.put(batch, encoded)
        return placer.logits()


def encode_batches(
    encoder: Encoder, windows: pa.Table, batch_tokens: int, precision: torch.dtype
) -> Iterator[tuple[np.ndarray, Encoded]]:
    """The batch plan of a block, and what the encoder makes of each batch."""
    ids, types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
    lengths = np.array([len(tokens) for tokens in ids], dtype=np.int32)
    # entered once around all batches: autocast then casts the weights once, and not for each of them
    with torch.inference_mode(), autocast(encoder.device, precision):
        for batch in plan_inference(lengths, tokens=batch_tokens):
            yield batch, encoder.encode([ids[i] for i in batch], [types[i] for i in batch], dtype=precision)
