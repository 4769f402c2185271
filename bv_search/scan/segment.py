"""A segment: rows [a, b) + K heads at a → K heads at b. One read, one widening, one device copy for all."""

import time
from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import methodcaller
from threading import Lock

import numpy as np
import torch

from bv_search.heads.inputs import Standard
from bv_search.heads.pack import Pack
from bv_search.scan.batch import Batch
from bv_search.scan.checks import Check
from bv_search.scan.course import Course
from bv_search.scan.folds import Folds
from bv_search.scan.judge import Judge, Verdict
from bv_search.scan.lanes import Lanes
from bv_search.scan.learner import Learner, LearningCopy, averaged
from bv_search.scan.outcome import Diverged
from bv_search.scan.pack_trainer import PackTrainer
from bv_search.scan.rows import Rows, RowsInMemory
from bv_search.scan.state import HeadState
from bv_search.store.layout import MICRO_BATCH
from bv_search.tasks.task import Kind

SETTLING = 16  # micro-batches; 64 gave the same scores


@dataclass(frozen=True, kw_only=True)
class TrainingData:
    """What a segment reads: the rows that heads learn from and their labels; who judges heads on the way."""

    rows: Rows
    standard: Standard
    labels_ND: np.ndarray
    kind: Kind
    judge: Judge | None  # None: no rows are left to judge by, and the last weights are the best
    folds: Folds | None = None  # None: heads have one copy, which learns from all rows

    def check(self, course: Course, position: int, verdict: Verdict) -> Check:
        rows = self.rows.seen(course.rows, position)
        return Check(position=position, rows=rows, score=verdict.score, loss=verdict.loss)


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A head at the end of a segment, and the checks that it passed on the way."""

    state: HeadState
    checks: tuple[Check, ...]
    has_learned: bool

    @property
    def trial(self) -> str:
        return self.state.trial


def train_segment(
    data: TrainingData, states: Iterable[HeadState], stop: int, *, seconds: float | None = None
) -> list[Trained | Diverged]:
    """Train all heads from their common position to `stop` (micro-batches), or until they have learned.

    Once so many seconds are over, the batch that they are at is their last.
    """
    end = float("inf") if seconds is None else time.monotonic() + seconds
    windows, device = data.rows.split.windows, data.rows.device
    attach = partial(Learner.attach, windows=windows, standard=data.standard, device=device)
    learners = [attach(state) for state in states]
    _check_starts(learners, stop)
    diverged: dict[str, Diverged] = {}
    for together in _by_step(data.rows, learners):
        for lost in _Training(data, together, end).run(stop):
            diverged[lost.trial] = lost
    return [diverged.get(n.trial) or _trained(n) for n in learners]


def _trained(learner: Learner) -> Trained:
    checks = tuple(learner.new_checks)
    return Trained(state=learner.detach(), checks=checks, has_learned=learner.has_learned)


def _by_step(rows: Rows, learners: Sequence[Learner]) -> Iterable[list[Learner]]:
    """Learners that take the same windows at once: in memory, those whose steps end at the same places."""
    together: dict[Hashable, list[Learner]] = defaultdict(list)
    for learner in learners:
        course = learner.course
        places = (course.rows, course.is_open) if isinstance(rows, RowsInMemory) else ()
        together[rows.step_windows(learner.config.training.batch), places].append(learner)
    return together.values()


def _check_starts(learners: Sequence[Learner], stop: int) -> None:
    """All heads of a segment read the same rows: they may differ in length only within the first pass."""
    courses = [learner.course for learner in learners]
    assert len({learner.position for learner in learners}) == 1, "heads of a segment stand at one position"
    assert stop <= min(course.end for course in courses), "a segment ends before any head's end"
    same = len({course.rows for course in courses}) == 1
    assert same or stop <= min(course.pass_length for course in courses), "different data after one pass"


class _Training:
    """Learners of one batch size on their way through a segment."""

    def __init__(self, data: TrainingData, learners: Sequence[Learner], end: float) -> None:
        self._data, self._learners, self._end = data, learners, end
        self._rows = max(learner.course.rows for learner in learners)
        self._batch = learners[0].config.training.batch

    def run(self, stop: int) -> list[Diverged]:
        """From border to border of their courses; at each, those that are due for a check are judged."""
        diverged: list[Diverged] = []
        copies = [copy for learner in self._learners for copy in learner.copies]
        position, live = self._learners[0].position, list(self._learners)
        with Lanes([copy.head for copy in copies], self._data.rows.device) as lanes:
            trainers = [PackTrainer([copies[k] for k in group], self._data.kind) for group in lanes.groups]
            while position < stop and live:
                until = min(stop, *(learner.course.next_border(position) for learner in live))
                if lanes.has_turns and isinstance(self._data.rows, RowsInMemory):
                    until = min(until, self._next_step(position))  # else time may be up before the last turn
                lost = self._learn(lanes, trainers, position, until)
                diverged += [_diverged(learner) for learner in live if lost.intersection(learner.copies)]
                live = _leave(live, {each.trial for each in diverged}, trainers)
                position = until if self._end > time.monotonic() else stop  # no more where the time is up
                live = _leave(live, self._arrive(live, until, is_last=position == stop), trainers)
        return diverged

    def _next_step(self, position: int) -> int:
        begun, length = self._learners[0].course.last_border(position), self._batch // MICRO_BATCH
        return begun + ((position - begun) // length + 1) * length

    def _learn(
        self, lanes: Lanes, trainers: Sequence[PackTrainer], start: int, stop: int
    ) -> set[LearningCopy]:
        """All lanes at a batch that was read for them all, or each at its own, where rows are in memory."""
        rows, line = self._data.rows, _StopLine(self._end)
        if isinstance(rows, RowsInMemory):
            work = partial(self._learn_alone, start=start, stop=stop, line=line)
            return set(chain.from_iterable(lanes.run(work, trainers)))
        lost: set[LearningCopy] = set()
        for number, batch in enumerate(rows.stretch(self._rows, start, stop, self._batch)):
            if all(trainer.is_empty for trainer in trainers) or not line.let_begin(number):
                break
            learn = methodcaller("learn", batch, self._labels(batch), self._folds(batch))
            lost.update(chain.from_iterable(lanes.run(learn, trainers)))
        return lost

    def _learn_alone(
        self, trainer: PackTrainer, *, start: int, stop: int, line: "_StopLine"
    ) -> list[LearningCopy]:
        lost: list[LearningCopy] = []
        begun = self._learners[0].course.last_border(start)
        stretch = self._data.rows.stretch(self._rows, start, stop, self._batch, begun=begun)
        for number, batch in enumerate(stretch):
            if trainer.is_empty or not line.let_begin(number):
                break
            lost += trainer.learn(batch, self._labels(batch), self._folds(batch))
        return lost

    def _labels(self, batch: Batch) -> torch.Tensor:
        return torch.from_numpy(self._data.labels_ND[batch.windows]).to(self._data.rows.device)

    def _folds(self, batch: Batch) -> torch.Tensor | None:
        folds = self._data.folds
        return (
            None if folds is None else torch.from_numpy(folds.of_N[batch.windows]).to(self._data.rows.device)
        )

    def _arrive(self, live: Sequence[Learner], position: int, *, is_last: bool) -> set[str]:
        """Judge those whose check is here; those that have learned are told."""
        judge = self._data.judge
        here = [learner for learner in live if learner.position == position]
        due = [n for n in here if (is_last if judge is None else n.course.is_check(position))]
        with averaged(due):
            self._settle(due)
            if judge is None:
                for learner in due:
                    learner.keep()
            else:
                self._judge(judge, due)
        if is_last:
            self._settle(live)
        return {learner.trial for learner in due if learner.has_learned}

    def _judge(self, judge: Judge, learners: Sequence[Learner]) -> None:
        verdicts = judge.judge([learner.heads for learner in learners])
        for learner, verdict in zip(learners, verdicts, strict=True):
            if verdict is not None:  # answers that are no numbers are found where the head is scored
                learner.judged(self._data.check(learner.course, learner.position, verdict))

    def _settle(self, learners: Sequence[Learner]) -> None:
        """Measure what batch norm of some of them needs, with the weights as they are now, on the last rows.

        Those that were gathered while the weights moved belong to other weights: on MRPC an Xception that had
        .62 of select right by its batches' own statistics had .39 by the running ones.
        """
        heads = [head for learner in learners for head in learner.heads if head.normed]
        if not heads:
            return
        stop, rows = learners[0].position, self._data.rows
        with Lanes(heads, rows.device) as lanes:
            packs = [Pack([heads[k] for k in group]) for group in lanes.groups]
            last = rows.stretch(self._rows, max(0, stop - SETTLING), stop, self._batch)
            for number, batch in enumerate(last):
                lanes.run(partial(gather_statistics, batch, number), packs)


class _StopLine:
    """When a segment's time is up, all lanes stop at one batch: the furthest that any of them has begun."""

    def __init__(self, time_up: float) -> None:
        self._time_up = time_up
        self._last: int | None = None
        self._furthest = 0  # the first batch is always done
        self._lock = Lock()

    def let_begin(self, batch: int) -> bool:
        """Whether a lane goes on with a batch, which is noted."""
        with self._lock:
            if self._last is None and time.monotonic() >= self._time_up:
                self._last = self._furthest
            if self._last is None:
                self._furthest = max(self._furthest, batch)
            return self._last is None or batch <= self._last


def _leave(
    live: Sequence[Learner], trials: Collection[str], trainers: Sequence[PackTrainer]
) -> list[Learner]:
    """Those that go on."""
    gone = {copy for learner in live if learner.trial in trials for copy in learner.copies}
    if gone:
        for trainer in trainers:
            trainer.dismiss(gone)
    return [learner for learner in live if learner.trial not in trials]


def _diverged(learner: Learner) -> Diverged:
    """Where its first copy did; the others went on for a while."""
    return Diverged(trial=learner.trial, position=min(copy.position for copy in learner.copies))


@torch.no_grad()
def gather_statistics(batch: Batch, number: int, pack: Pack) -> None:
    """Batch norm's, and nothing is learned."""
    pack(batch.states, batch.lengths_N, step=number)
