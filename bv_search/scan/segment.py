"""A segment: rows [a, b) + K heads at a → K heads at b. One read, one widening, one device copy for all."""

import time
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import methodcaller

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
from bv_search.scan.learner import Learner
from bv_search.scan.outcome import Diverged
from bv_search.scan.pack_trainer import PackTrainer as Team
from bv_search.scan.rows import Rows, RowsInMemory
from bv_search.scan.state import HeadState
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
        with Lanes([learner.heads[0] for learner in self._learners], self._data.rows.device) as lanes:
            teams = [Team([self._learners[k] for k in group], self._data.kind) for group in lanes.groups]
            position = self._learners[0].position
            while position < stop and (live := _live(teams)):
                until = min(stop, *(learner.course.next_border(position) for learner in live))
                diverged += self._learn(lanes, teams, position, until)
                position = until if self._end > time.monotonic() else stop  # no more where the time is up
                self._arrive(teams, until, is_last=position == stop)
        return diverged

    def _learn(self, lanes: Lanes, teams: Sequence[Team], start: int, stop: int) -> list[Diverged]:
        """All lanes at a batch that was read for them all, or each at its own, where rows are in memory."""
        rows = self._data.rows
        if isinstance(rows, RowsInMemory):
            work = partial(self._learn_alone, start=start, stop=stop)
            return list(chain.from_iterable(lanes.run(work, teams)))
        diverged: list[Diverged] = []
        for batch in rows.stretch(self._rows, start, stop, self._batch):
            learn = methodcaller("learn", batch, self._labels(batch), self._folds(batch))
            diverged += chain.from_iterable(lanes.run(learn, teams))
            if time.monotonic() >= self._end or all(team.is_empty for team in teams):
                break
        return diverged

    def _learn_alone(self, team: Team, *, start: int, stop: int) -> list[Diverged]:
        diverged: list[Diverged] = []
        begun = self._learners[0].course.last_border(start)
        for batch in self._data.rows.stretch(self._rows, start, stop, self._batch, begun=begun):
            diverged += team.learn(batch, self._labels(batch), self._folds(batch))
            if time.monotonic() >= self._end or team.is_empty:
                break
        return diverged

    def _labels(self, batch: Batch) -> torch.Tensor:
        return torch.from_numpy(self._data.labels_ND[batch.windows]).to(self._data.rows.device)

    def _folds(self, batch: Batch) -> torch.Tensor | None:
        folds = self._data.folds
        return (
            None if folds is None else torch.from_numpy(folds.of_N[batch.windows]).to(self._data.rows.device)
        )

    def _arrive(self, teams: Sequence[Team], position: int, *, is_last: bool) -> None:
        """Judge those whose check is here; those that have learned leave."""
        judge = self._data.judge
        here = [learner for learner in _live(teams) if learner.position == position]
        due = [n for n in here if (is_last if judge is None else n.course.is_check(position))]
        with _averaged(due):
            self._settle(due)
            if judge is None:
                for learner in due:
                    learner.keep()
            else:
                self._judge(judge, due)
        if is_last:
            self._settle(_live(teams))
        done = {learner.trial for learner in due if learner.has_learned}
        for team in teams:
            team.dismiss(done)

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
        learners = [learner for learner in learners if learner.heads[0].normed]
        if not learners:
            return
        stop, rows = learners[0].position, self._data.rows
        with Lanes([learner.heads[0] for learner in learners], rows.device) as lanes:
            packs = [Pack([head for k in group for head in learners[k].heads]) for group in lanes.groups]
            last = rows.stretch(self._rows, max(0, stop - SETTLING), stop, self._batch)
            for number, batch in enumerate(last):
                lanes.run(partial(_gather_statistics, batch, number), packs)


@torch.no_grad()
def _gather_statistics(batch: Batch, number: int, pack: Pack) -> None:
    """Batch norm's, and nothing is learned."""
    pack(batch.states, batch.lengths_N, step=number)


@contextmanager
def _averaged(learners: Sequence[Learner]) -> Iterator[None]:
    """What is judged of a head is the running mean of its weights, if it has one."""
    averaging = [learner for learner in learners if learner.averages]
    for learner in averaging:
        learner.swap()
    yield
    for learner in averaging:
        learner.swap()


def _live(teams: Iterable[Team]) -> list[Learner]:
    return [learner for team in teams for learner in team.learners]
