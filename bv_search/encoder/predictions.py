"""The encoder's own logits for many windows."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import torch

from bv_search.command import Progress
from bv_search.encoder.batches import plan_inference, read_tokens
from bv_search.encoder.encoder import Encoder
from bv_search.tasks.task import Logits

BATCH_TOKENS = {"cpu": 4096, "cuda": 32768}  # with padding; more is no faster


def predict_logits(
    encoder: Encoder,
    windows: pa.Table,
    *,
    batch_tokens: int | None = None,
    dtype: torch.dtype | None = None,
    progress: Progress | None = None,
) -> list[Logits]:
    """One array per window, in the windows' order: (tokens, 2) for spans, (outputs,) otherwise."""
    found: dict[int, Logits] = {}
    for batch in predict_batches(encoder, windows, batch_tokens=batch_tokens, dtype=dtype):
        found |= batch
        if progress is not None:
            progress.update(f"predicting: {len(found):,} of {windows.num_rows:,} windows")
    return [found[index] for index in range(windows.num_rows)]


def predict_batches(
    encoder: Encoder,
    windows: pa.Table,
    *,
    batch_tokens: int | None = None,
    dtype: torch.dtype | None = None,
) -> Iterator[dict[int, Logits]]:
    """The same a batch at a time, longest windows first, by the windows' numbers."""
    assert encoder.task is not None, "an encoder that predicts has a task"
    ids, types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
    lengths = np.array([len(tokens) for tokens in ids], dtype=np.int32)
    tokens = batch_tokens or BATCH_TOKENS.get(encoder.device.type, BATCH_TOKENS["cpu"])
    for batch in plan_inference(lengths, tokens=tokens):
        logits = encoder.predict([ids[i] for i in batch], [types[i] for i in batch], dtype=dtype)
        rows = zip(batch.tolist(), logits.cpu().numpy(), strict=True)
        yield {index: encoder.task.unpadded(row, lengths[index]).copy() for index, row in rows}
