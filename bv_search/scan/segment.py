"""A segment: rows [a, b) + K heads at a → K heads at b. One read, one widening, one device copy for all."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bv_search.heads.pack import Pack
from bv_search.scan import adam
from bv_search.scan.batch import Batch, batches
from bv_search.scan.learner import Learner
from bv_search.scan.loss import LOSSES
from bv_search.scan.order import parts
from bv_search.scan.state import HeadState
from bv_search.store.store import StoreSplit
from bv_search.tasks.task import Kind

SETTLING = 16  # micro-batches; 64 gave the same scores


@dataclass(frozen=True, kw_only=True)
class Diverged:
    """A head whose loss or answers left the finite numbers."""

    trial: str
    position: int
    what: str = "loss"

    def __str__(self) -> str:
        return f"diverged: {self.what} not finite at micro-batch {self.position}"


@dataclass(frozen=True, kw_only=True)
class TrainSplit:
    """What a segment reads: hidden states, labels, and the seed of later passes' block orders."""

    split: StoreSplit
    labels_ND: np.ndarray
    kind: Kind
    seed: int


def train_segment(
    source: TrainSplit,
    states: Sequence[HeadState],
    stop: int,
    *,
    device: torch.device,
    on_batch: Callable[[int], None] | None = None,
) -> list[HeadState | Diverged]:
    """Train all heads from their common position to `stop` (micro-batches), in one pass."""
    learners = [Learner.attach(s, windows=source.split.windows, device=device) for s in states]
    start = _common_start(learners, stop)
    diverged: dict[str, Diverged] = {}
    active, pack = learners, Pack([learner.head for learner in learners])
    rows = max(learner.rows for learner in learners)
    for batch in _read(source, rows, start, stop, device):
        losses_K = accumulate(active, pack, batch, source, device)
        if on_batch:
            on_batch(active[0].position)
        lost = {k for k, finite in enumerate(losses_K.isfinite().tolist()) if not finite}
        if lost:
            diverged |= {active[k].state.trial: _diverged(active[k]) for k in lost}
            active = [learner for k, learner in enumerate(active) if k not in lost]
            if not active:
                break
            pack = Pack([learner.head for learner in active])
        for learner in active:
            learner.saw(len(batch.lengths_N))
        if due := [learner for learner in active if learner.due]:
            adam.step(due)
    _settle(source, [learner for learner in active if learner.head.normed], rows, stop, device)
    return [diverged.get(n.state.trial) or n.detach() for n in learners]


def _read(source: TrainSplit, rows: int, start: int, stop: int, device: torch.device) -> Iterator[Batch]:
    split = source.split
    plan = list(parts(split.block_windows, rows=rows, start=start, stop=stop, seed=source.seed))
    return batches(split, plan, device=device)


@torch.no_grad()
def _settle(
    source: TrainSplit, learners: Sequence[Learner], rows: int, stop: int, device: torch.device
) -> None:
    """Measure batch norm's statistics with the weights as they are now, on the last micro-batches.

    Those that were gathered while the weights moved belong to other weights: on MRPC an Xception that had
    .62 of select right by its batches' own statistics had .39 by the running ones.
    """
    if not learners:
        return
    pack = Pack([learner.head for learner in learners])
    for number, batch in enumerate(_read(source, rows, max(0, stop - SETTLING), stop, device)):
        pack(batch.hidden_LTH, batch.lengths_N, step=number)


def _common_start(learners: Sequence[Learner], stop: int) -> int:
    """All heads of a segment read the same rows: they may differ in length only within the first pass."""
    starts = {learner.position for learner in learners}
    assert len(starts) == 1, "heads of a segment stand at one position"
    assert stop <= min(learner.total for learner in learners), "a segment ends before any head's end"
    same = len({learner.rows for learner in learners}) == 1
    assert same or stop <= min(learner.pass_length for learner in learners), "different data after one pass"
    return starts.pop()


def accumulate(
    learners: Sequence[Learner], pack: Pack, batch: Batch, source: TrainSplit, device: torch.device
) -> Tensor:
    """Add this batch's gradients to each head's; the sum of its losses, for each head."""
    labels = torch.from_numpy(source.labels_ND[batch.windows]).to(device)
    outputs = pack(batch.hidden_LTH, batch.lengths_N, step=learners[0].position)
    logits = torch.stack(outputs, dim=1).transpose(0, 1)  # as losses and packs keep them in memory
    losses_K = LOSSES[source.kind](logits, batch.lengths_N, labels, _smoothing(learners, device))
    torch.autograd.backward(losses_K.sum())
    return losses_K.detach()


def _smoothing(learners: Sequence[Learner], device: torch.device) -> Tensor | None:
    shares = [learner.state.config.training.label_smoothing for learner in learners]
    return torch.tensor(shares, device=device) if any(shares) else None


def _diverged(learner: Learner) -> Diverged:
    return Diverged(trial=learner.state.trial, position=learner.position)
