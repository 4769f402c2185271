"""Scoring: one pass over a split for all heads of a pack."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch

from bv_search.heads.config import HeadShape
from bv_search.heads.copies import Copies
from bv_search.heads.head import Head
from bv_search.heads.inputs import share_inputs
from bv_search.heads.pack import Pack
from bv_search.scan.batch import Batch, WantedStates, places_of
from bv_search.scan.folds import Folds
from bv_search.scan.lanes import Lanes
from bv_search.scan.rows import Rows, open_rows
from bv_search.store.store import StoreSplit
from bv_search.tasks.votes import RoleLogits

Places = slice | np.ndarray


def score_split(heads: Sequence[Head], split: StoreSplit) -> list[RoleLogits]:
    """The same for heads from anywhere, on a split that nobody has opened."""
    wanted = WantedStates(inputs=share_inputs(heads), device=torch.device("cpu"))
    return score_heads(heads, open_rows(split, wanted))


@torch.inference_mode()
def score_heads(heads: Sequence[Head], rows: Rows) -> list[RoleLogits]:
    """Each head's logits for every window, in index order: (tokens, 2) for spans, (C,) otherwise."""
    heads = [head.to(rows.device) for head in heads]
    answers = AnswerSheets(len(heads), heads[0].shape, rows.split.lengths)
    with Lanes(heads, rows.device) as lanes:
        teams = [answers.team(heads, group) for group in lanes.groups]
        for batch in rows.all():
            lanes.run(partial(answer_batch, batch, answers.places(batch.windows)), teams)
    return answers.by_window()


@torch.inference_mode()
def score_copies(heads: Sequence[Copies], rows: Rows, folds: Folds) -> list[RoleLogits]:
    """Each head's logits for the windows that it is judged by, said by the copy whose fold they are of.

    Of a head, one copy reads each window: this costs what scoring heads without copies does.
    """
    heads = [[head.to(rows.device) for head in copies] for copies in heads]
    alike, speakers_N = [copies[0] for copies in heads], folds.speakers_N
    answers = AnswerSheets(len(heads), alike[0].shape, rows.split.lengths)
    with Lanes(alike, rows.device) as lanes:
        teams = [[answers.team(own, group) for group in lanes.groups] for own in zip(*heads, strict=True)]
        for batch in rows.owned(speakers_N):
            work = partial(answer_batch, batch, answers.places(batch.windows))
            lanes.run(work, teams[speakers_N[batch.windows][0]])
    return answers.by_window(folds.judged)


class AnswerSheets:
    """Logits of heads on some windows: all of a head's in one piece, made at once.

    What stays in memory between what comes and goes would break it into pieces.
    """

    def __init__(self, heads: int, shape: HeadShape, lengths_N: np.ndarray) -> None:
        self._per_token = shape.per_token
        self._ends_N = np.cumsum(lengths_N) if shape.per_token else np.arange(1, len(lengths_N) + 1)
        self._lengths_N = np.diff(self._ends_N, prepend=0)
        self._flat = [np.empty((self._ends_N[-1], shape.outputs), np.float32) for _ in range(heads)]

    def team(self, heads: Sequence[Head], group: Sequence[int]) -> tuple[Pack, list[np.ndarray]]:
        """Those that answer together, and where each one's logits go."""
        return Pack([heads[k] for k in group]), [self._flat[k] for k in group]

    def places(self, windows: Places) -> Places:
        """Where the logits of some windows stand."""
        if not self._per_token:
            return windows
        lengths_N = self._lengths_N[windows]
        return places_of(self._ends_N[windows] - lengths_N, lengths_N)

    def by_window(self, chosen: np.ndarray | None = None) -> list[RoleLogits]:
        """Of all windows, or of those that are chosen."""
        if not self._per_token:
            return [flat if chosen is None else flat[chosen] for flat in self._flat]
        split = (np.split(flat, self._ends_N[:-1]) for flat in self._flat)
        return [windows if chosen is None else [windows[n] for n in chosen] for windows in split]


@torch.inference_mode()
def answer_batch(batch: Batch, places: Places, team: tuple[Pack, list[np.ndarray]]) -> None:
    pack, logits = team
    for out, of_head in zip(pack(batch.states, batch.lengths_N), logits, strict=True):
        of_head[places] = out.cpu().numpy()
