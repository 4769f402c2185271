"""Scoring: one pass over a split for all heads of a pack."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from bv_search.scan.batch import Batch, batches
from bv_search.scan.lanes import Lanes
from bv_search.store.block import Part
from bv_search.store.store import StoreSplit


@torch.inference_mode()
def score_heads(
    heads: Sequence[Head], split: StoreSplit, *, device: torch.device | None = None
) -> list[list[np.ndarray]]:
    """Each head's logits for every window, in index order: (tokens, 2) for spans, (C,) otherwise."""
    device = device or torch.device("cpu")
    heads = [head.to(device) for head in heads]
    whole = [Part(block=number, start=0, stop=windows) for number, windows in enumerate(split.block_windows)]
    logits: list[list[np.ndarray]] = [[] for _ in heads]
    with Lanes(heads, device) as lanes:
        packs = [Pack([heads[k] for k in group]) for group in lanes.groups]
        for batch in batches(split, whole, device=device):
            found = lanes.run(partial(_answer, batch), packs)
            for group, rows_of_heads in zip(lanes.groups, found, strict=True):
                for k, rows in zip(group, rows_of_heads, strict=True):
                    logits[k].extend(rows)
    return logits


@torch.inference_mode()
def _answer(batch: Batch, pack: Pack) -> list[list[np.ndarray]]:
    """Of each head, of each window."""
    lengths = batch.lengths_N.tolist() if pack.per_token else None
    outputs = pack(batch.hidden_LTH, batch.lengths_N)
    rows_of_heads = [torch.split(out, lengths) if lengths else out.unbind() for out in outputs]
    return [[row.cpu().numpy() for row in rows] for rows in rows_of_heads]
