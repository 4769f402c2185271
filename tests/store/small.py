"""Small splits with windows of different lengths, and stores of them in many small blocks."""

from pathlib import Path
from typing import Any

import numpy as np

from bv_search.store.layout import BlockLimits
from bv_search.store.manifest import EncoderEntry
from bv_search.store.store import Store
from bv_search.store.writer import SplitArrays, write_store
from bv_search.tasks.registry import find_task
from bv_search.tasks.window import WindowRows

LAYERS, WIDTH = 3, 8
ENCODER = EncoderEntry(id="tiny", revision=None, digest="xxh3:0", parameters=1000)
SMALL = BlockLimits(bytes=1, windows=16)


def make_split(windows: int = 72, *, role: str = "train", seed: int = 0, logits: bool = True) -> SplitArrays:
    """Blocks of 16 windows under SMALL, the last one shorter."""
    rng = np.random.default_rng(seed)
    table = WindowRows()
    hidden, own = [], []
    for number in range(windows):
        length = int(rng.integers(3, 30))
        table.ids.append(f"r{number}#0")
        table.rows.append(f"r{number}")
        table.keys.append(number)
        table.token_ids.append(rng.integers(1, 99, length).astype(np.int32))
        table.type_ids.append(np.zeros(length, np.int32))
        table.labels.append([float(number % 2)])
        hidden.append(rng.normal(size=(LAYERS, length, WIDTH)).astype(np.float32))
        own.append(rng.normal(size=2).astype(np.float32))
    return SplitArrays(role=role, index=table.table(), hidden=hidden, logits=own if logits else None)


def make_store(place: str | Path, splits: dict[str, SplitArrays] | None = None, **settings: Any) -> Store:
    splits = (
        {"train": make_split(), "dev": make_split(20, role="report", seed=1)} if splits is None else splits
    )
    options = {"limits": SMALL, "task": find_task("mrpc").to_json(), "encoder": ENCODER, **settings}
    return write_store(place, splits, **options)
