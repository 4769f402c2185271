"""What it would cost to run the encoder again instead of reading a store: measured, here and now."""

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch

from bv_search.encoder.batches import plan_inference, read_tokens
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoder, autocast
from bv_search.store.store import Store

SECONDS = 1.0
MOST_BATCHES = 200
BATCH_TOKENS = 1024


def encoder_rate(store: Store, source: Path) -> float | None:
    """Tokens per second of the encoder in a folder, or None when it is not the store's own."""
    encoder = load_encoder(source, task=store.task)
    if encoder.identity.digest != store.manifest.encoder.digest:
        return None
    return tokens_per_second(store, encoder)


def tokens_per_second(store: Store, encoder: Encoder) -> float:
    """Of forward passes over batches of like length, for a moment, after one to warm up."""
    windows = store.splits()[0].index_group(0, ["token_ids", "type_ids"])
    manifest = store.manifest
    return rate_of(encoder, windows, manifest.precision, manifest.batch_tokens or BATCH_TOKENS)


def rate_of(encoder: Encoder, windows: pa.Table, precision: str, batch_tokens: int = BATCH_TOKENS) -> float:
    """The same of any windows."""
    ids, types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
    lengths = np.array([len(tokens) for tokens in ids], np.int32)
    dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(precision)
    batches = list(plan_inference(lengths, tokens=batch_tokens))
    tokens, started = 0, 0.0
    # entered once around all batches: autocast then casts the weights once, and not for each of them
    with torch.inference_mode(), autocast(encoder.device, dtype):
        for number in range(MOST_BATCHES):
            batch = batches[number % len(batches)]
            encoder.encode([ids[i] for i in batch], [types[i] for i in batch], dtype=dtype)
            if encoder.device.type == "cuda":
                torch.cuda.synchronize(encoder.device)
            if number == 0:
                started = time.perf_counter()
                continue
            tokens += int(lengths[batch].sum())
            if time.perf_counter() - started > SECONDS:
                break
    return tokens / max(time.perf_counter() - started, 1e-9)
