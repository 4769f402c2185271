"""Scoring: one pass over a split for all heads of a pack."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from bv_search.heads.head import Head
from bv_search.heads.inputs import share_inputs
from bv_search.heads.pack import Pack
from bv_search.scan.batch import Batch
from bv_search.scan.lanes import Lanes
from bv_search.scan.rows import Rows, open_rows
from bv_search.store.store import StoreSplit

Logits = Sequence[np.ndarray] | np.ndarray
"""Of every window: (tokens, 2) each for spans; one array (N, C) otherwise."""


def score_split(heads: Sequence[Head], split: StoreSplit) -> list[Logits]:
    """The same for heads from anywhere, on a split that nobody has opened."""
    return score_heads(heads, open_rows(split, share_inputs(heads), torch.device("cpu")))


@torch.inference_mode()
def score_heads(heads: Sequence[Head], rows: Rows) -> list[Logits]:
    """Each head's logits for every window, in index order: (tokens, 2) for spans, (C,) otherwise."""
    heads = [head.to(rows.device) for head in heads]
    shape, split = heads[0].shape, rows.split
    count = int(split.lengths.sum()) if shape.per_token else split.windows
    # made at once: what stays in memory between what comes and goes would break it into pieces
    logits: list[np.ndarray] = [np.empty((count, shape.outputs), np.float32) for _ in heads]
    with Lanes(heads, rows.device) as lanes:
        teams = [(Pack([heads[k] for k in g]), [logits[k] for k in g]) for g in lanes.groups]
        first = 0
        for batch in rows.all():
            stop = first + (int(batch.lengths_N.sum()) if shape.per_token else len(batch.lengths_N))
            lanes.run(partial(_answer, batch, slice(first, stop)), teams)
            first = stop
    if not shape.per_token:
        return list(logits)
    ends = np.cumsum(split.lengths)
    return [np.split(of_head, ends[:-1]) for of_head in logits]


@torch.inference_mode()
def _answer(batch: Batch, rows: slice, team: tuple[Pack, list[np.ndarray]]) -> None:
    pack, logits = team
    for out, of_head in zip(pack(batch.states, batch.lengths_N), logits, strict=True):
        of_head[rows] = out.cpu().numpy()
