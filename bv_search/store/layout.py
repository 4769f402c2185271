"""Where things stand in a store: names of files, order of windows, borders of blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xxhash

Counts = Sequence[int] | np.ndarray

MICRO_BATCH = 16
"""Windows that are trained on together: what batch norm sees and accumulation adds up. Fixed, or results
would depend on it. A block holds a multiple of it, so none ever crosses a border."""

MANIFEST = "manifest.json"
STATISTICS = "statistics.safetensors"
EMBEDDINGS, POOLER = "embeddings", "pooler"
NONE = "none"
FORMATS = ("npy", "parquet", NONE)
"""`none` keeps no hidden states: the encoder makes them again whenever they are read."""


ALL, FIRST, MEAN = TOKENS = ("all", "first", "mean")
"""Which tokens of a window are kept: each, or one, the first or the mean of all."""


def index_file(split: str) -> str:
    return f"{split}/index.parquet"


def encoder_file(split: str) -> str:
    return f"{split}/encoder.parquet"


def block_file(split: str, number: int, fmt: str) -> str:
    return f"{split}/blocks/{number:05d}.{fmt}"


def channel_name(layer: int) -> str:
    """Layer 0 is the word-piece embeddings, as in `hidden_states` of transformers."""
    return EMBEDDINGS if layer == 0 else f"layer {layer}"


def layer_number(channel: str) -> int:
    """The layer that a channel is of, by its name."""
    return 0 if channel == EMBEDDINGS else int(channel.removeprefix("layer "))


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockPlan:
    """Which windows of a split stand in a block, in the store's order."""

    number: int
    first: int
    windows: int
    tokens: int  # that stand in the store
    encoded: int  # that the encoder reads for them


def seeded_order(windows: int, seed: int, split: str) -> np.ndarray:
    """The order of a split: the first f of it is a uniform random sample of fraction f."""
    rng = np.random.default_rng([seed, xxhash.xxh3_64_intdigest(split.encode())])
    return rng.permutation(windows)


@dataclass(frozen=True, kw_only=True)
class BlockLimits:
    """When a block is closed. Small blocks lose little work when killed, large ones sort better by length."""

    bytes: int = 128 << 20  # closed once it is this large …
    windows: int = 96  # … and holds this many windows, so that there is something to sort
    bytes_most: int = 768 << 20  # never larger: an encoding process holds a block in memory
    encoded_tokens: int = 1 << 15  # also closed once so many tokens were encoded for it


LIMITS = BlockLimits()

WRITING_BYTES = 128 << 20
"""What writing a block takes beside the block itself, which is held once. For npy on a disk nothing: pieces
are written from where they stand. For Parquet a few copies of a row group, for object storage of a piece."""

WORKER_BYTES = 2 << 30
"""What an encoding process takes at most beside its encoder: a block, its writing, two batches."""


def plan_blocks(
    stored: Counts, encoded: Counts, token_bytes: int, limits: BlockLimits = LIMITS
) -> list[BlockPlan]:
    """Borders of blocks, from the tokens that windows leave in the store and those they cost to encode."""
    stored_N, encoded_N = np.asarray(stored, np.int64), np.asarray(encoded, np.int64)
    plans: list[BlockPlan] = []
    first = windows = tokens = work = 0

    def close() -> None:
        nonlocal first, windows, tokens, work
        plans.append(BlockPlan(number=len(plans), first=first, windows=windows, tokens=tokens, encoded=work))
        first, windows, tokens, work = first + windows, 0, 0, 0

    for start in range(0, len(stored_N), MICRO_BATCH):
        stored_here = stored_N[start : start + MICRO_BATCH]
        if windows and (tokens + int(stored_here.sum())) * token_bytes > limits.bytes_most:
            close()
        windows += len(stored_here)
        tokens += int(stored_here.sum())
        work += int(encoded_N[start : start + MICRO_BATCH].sum())
        large = tokens * token_bytes >= limits.bytes and windows >= limits.windows
        if large or work >= limits.encoded_tokens:
            close()
    if windows:
        close()
    return plans


def cut_blocks(stored: Counts, encoded: Counts, sizes: Sequence[int]) -> list[BlockPlan]:
    """The same for blocks that are there already, with so many windows each."""
    ends = np.cumsum(sizes)
    assert ends[-1] == len(stored), "the blocks hold all windows"
    return [
        BlockPlan(
            number=number,
            first=int(end - size),
            windows=size,
            tokens=int(np.sum(stored[end - size : end])),
            encoded=int(np.sum(encoded[end - size : end])),
        )
        for number, (end, size) in enumerate(zip(ends, sizes, strict=True))
    ]
