"""A segment: rows [a, b) + K heads at a → K heads at b. One read, one widening, one device copy for all."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import methodcaller

import numpy as np
import torch

from bv_search.scan.batch import Batch, batches
from bv_search.scan.lanes import Lanes
from bv_search.scan.learner import Learner
from bv_search.scan.order import parts
from bv_search.scan.outcome import Diverged
from bv_search.scan.state import HeadState
from bv_search.scan.team import Team
from bv_search.store.store import StoreSplit
from bv_search.tasks.task import Kind

SETTLING = 16  # micro-batches; 64 gave the same scores


@dataclass(frozen=True, kw_only=True)
class TrainSplit:
    """What a segment reads: hidden states, labels, and the seed of later passes' block orders."""

    split: StoreSplit
    labels_ND: np.ndarray
    kind: Kind
    seed: int


def train_segment(
    source: TrainSplit,
    states: Iterable[HeadState],
    stop: int,
    *,
    device: torch.device,
    seconds: float | None = None,
) -> list[HeadState | Diverged]:
    """Train all heads from their common position to `stop` (micro-batches), in one pass.

    Once so many seconds are over, the micro-batch that they are at is their last.
    """
    end = float("inf") if seconds is None else time.monotonic() + seconds
    learners = [Learner.attach(s, windows=source.split.windows, device=device) for s in states]
    start = _common_start(learners, stop)
    diverged: dict[str, Diverged] = {}
    rows = max(learner.rows for learner in learners)
    with Lanes([learner.head for learner in learners], device) as lanes:
        teams = [Team([learners[k] for k in group], source.kind) for group in lanes.groups]
        for batch in _read(source, rows, start, stop, device):
            labels_ND = torch.from_numpy(source.labels_ND[batch.windows]).to(device)
            learn = methodcaller("learn", batch, labels_ND)
            for lost in chain.from_iterable(lanes.run(learn, teams)):
                diverged[lost.trial] = lost
            if time.monotonic() >= end or all(team.is_empty for team in teams):
                break
    going = [learner for learner in learners if learner.trial not in diverged]
    _settle(source, [learner for learner in going if learner.head.normed], rows, device)
    return [diverged.get(n.trial) or n.detach() for n in learners]


def _read(source: TrainSplit, rows: int, start: int, stop: int, device: torch.device) -> Iterator[Batch]:
    split = source.split
    plan = list(parts(split.block_windows, rows=rows, start=start, stop=stop, seed=source.seed))
    return batches(split, plan, device=device)


def _settle(source: TrainSplit, learners: Sequence[Learner], rows: int, device: torch.device) -> None:
    """Measure batch norm's statistics with the weights as they are now, on the last micro-batches.

    Those that were gathered while the weights moved belong to other weights: on MRPC an Xception that had
    .62 of select right by its batches' own statistics had .39 by the running ones.
    """
    if not learners:
        return
    stop = learners[0].position
    with Lanes([learner.head for learner in learners], device) as lanes:
        teams = [Team([learners[k] for k in group], source.kind) for group in lanes.groups]
        for number, batch in enumerate(_read(source, rows, max(0, stop - SETTLING), stop, device)):
            lanes.run(methodcaller("settle", batch, number), teams)


def _common_start(learners: Sequence[Learner], stop: int) -> int:
    """All heads of a segment read the same rows: they may differ in length only within the first pass."""
    starts = {learner.position for learner in learners}
    assert len(starts) == 1, "heads of a segment stand at one position"
    assert stop <= min(learner.total for learner in learners), "a segment ends before any head's end"
    same = len({learner.rows for learner in learners}) == 1
    assert same or stop <= min(learner.pass_length for learner in learners), "different data after one pass"
    return starts.pop()
