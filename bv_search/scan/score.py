"""Scoring: one pass over a split for all heads of a pack."""

from collections.abc import Sequence

import numpy as np
import torch

from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from bv_search.scan.batch import batches
from bv_search.store.block import Part
from bv_search.store.store import StoreSplit


@torch.inference_mode()
def score_heads(
    heads: Sequence[Head], split: StoreSplit, *, device: torch.device | None = None
) -> list[list[np.ndarray]]:
    """Each head's logits for every window, in index order: (tokens, 2) for spans, (C,) otherwise."""
    device = device or torch.device("cpu")
    pack = Pack([head.to(device) for head in heads])
    whole = [Part(block=number, start=0, stop=windows) for number, windows in enumerate(split.block_windows)]
    logits: list[list[np.ndarray]] = [[] for _ in heads]
    for batch in batches(split, whole, device=device):
        lengths = batch.lengths_N.tolist() if heads[0].shape.per_token else None
        for own, out in zip(logits, pack(batch.hidden_LTH, batch.lengths_N), strict=True):
            rows = torch.split(out, lengths) if lengths else out.unbind()
            own.extend(row.cpu().numpy() for row in rows)
    return logits
