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
    shape = heads[0].shape
    whole = [Part(block=number, start=0, stop=windows) for number, windows in enumerate(split.block_windows)]
    rows = int(split.lengths.sum()) if shape.per_token else split.windows
    # made at once: what stays in memory between what comes and goes would break it into pieces
    logits = [np.empty((rows, shape.outputs), np.float32) for _ in heads]
    with Lanes(heads, device) as lanes:
        teams = [(Pack([heads[k] for k in g]), [logits[k] for k in g]) for g in lanes.groups]
        first = 0
        for batch in batches(split, whole, device=device):
            stop = first + (int(batch.lengths_N.sum()) if shape.per_token else len(batch.lengths_N))
            lanes.run(partial(_answer, batch, slice(first, stop)), teams)
            first = stop
    if not shape.per_token:
        return [list(of_head) for of_head in logits]
    ends = np.cumsum(split.lengths)
    return [np.split(of_head, ends[:-1]) for of_head in logits]


@torch.inference_mode()
def _answer(batch: Batch, rows: slice, team: tuple[Pack, list[np.ndarray]]) -> None:
    pack, logits = team
    for out, of_head in zip(pack(batch.hidden_LTH, batch.lengths_N), logits, strict=True):
        of_head[rows] = out.cpu().numpy()
