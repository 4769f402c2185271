"""A scanner: one store, one device, and the two things done there: train a segment, score heads."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from bv_search.command import AUTO
from bv_search.cpu.memory import prepare_memory
from bv_search.heads.branches.product import product
from bv_search.heads.config import HeadShape
from bv_search.heads.copies import Copies, count_all, weights_bytes
from bv_search.heads.inputs import Inputs, Standard, share_inputs, value_moments
from bv_search.precision import FLOAT32, PrecisionChoice, choose_precision, dtype_of
from bv_search.scan.batch import WantedStates
from bv_search.scan.capacity import pack_capacity
from bv_search.scan.checks import Check
from bv_search.scan.course import Course
from bv_search.scan.finale import train_out
from bv_search.scan.folds import Folds
from bv_search.scan.judge import FoldJudge, Judge, RoleJudge, Verdict
from bv_search.scan.ladder_solver import constant_answers, solve_heads
from bv_search.scan.outcome import (
    Diverged,
    Final,
    Finalist,
    FinalistResult,
    Finished,
    HeadLogits,
    SegmentResult,
    Start,
)
from bv_search.scan.rows import Rows, open_rows
from bv_search.scan.segment import Trained, TrainingData, train_segment
from bv_search.scan.state import HeadState
from bv_search.scan.store_view import head_shape, joined_split, labels_of, learned_split, role_index
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig
from bv_search.source import LIVE, STORE
from bv_search.source.choice import Rates
from bv_search.source.exact import exact_matmuls
from bv_search.source.reference import EncoderReference
from bv_search.store.info import scan_rate
from bv_search.store.joined import AnySplit
from bv_search.store.store import Store
from bv_search.tasks.row import Role


class Scanner:
    """`source` is store or live; `memory` is how many bytes of blocks are in memory at once.

    A head has as many copies as there are folds. `precision` is of the wide products while heads learn and
    are checked on the way; their answers at the end are of 32 bits.
    """

    def __init__(
        self,
        store: str | Store,
        *,
        source: str = STORE,
        memory: int | None = None,
        folds: int = 1,
        precision: str = FLOAT32,
        device: str | None = None,
        threads: int | None = None,
    ) -> None:
        prepare_memory()
        if threads:
            torch.set_num_threads(threads)
        self._device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        if self._device.type == "cuda":
            # its matmuls then round to the ten bits of mantissa that a stored float16 has
            torch.set_float32_matmul_precision("high")
        stored = store if isinstance(store, Store) else Store.open(store, memory=memory)
        self._store = _fed_live(stored, self._device) if source == LIVE else stored
        self._reserved = memory or (stored.manifest.largest_block if source == LIVE else 0)
        self._task = self._store.task
        self._copies = folds
        self._opened: dict[tuple[str, frozenset[Inputs], torch.dtype], Rows] = {}
        self.use_precision(precision)

    def choose_precision(self) -> PrecisionChoice:
        """What products of heads gain by 16 bits here."""
        return choose_precision(AUTO, self._device, product)

    def use_precision(self, precision: str) -> None:
        self._dtype = dtype_of(precision)

    @property
    def trouble(self) -> str | None:
        return self._store.trouble

    @cached_property
    def shape(self) -> HeadShape:
        return head_shape(self._store)

    def capacity(self, trials: Sequence[TrialConfig], workers: int = 1) -> int:
        """Heads that may share a pass in the memory there is, where so many workers stand on this machine.

        An encoder that feeds them is in it already.
        """
        return pack_capacity(
            trials,
            self.shape,
            longest=int(self._learned.lengths.max()),
            device=self._device,
            copies=self._copies,
            reserved=self._reserved,
            workers=workers,
        )

    def rates(self) -> Rates:
        """How fast either source is here."""
        from bv_search.store.recompute import tokens_per_second

        encoder = EncoderReference.of(self._store.manifest.encoder).load(device=str(self._device))
        with exact_matmuls():
            encoding = tokens_per_second(self._store, encoder)
        return Rates(bytes_per_second=scan_rate(self._store), tokens_per_second=encoding)

    def segment(
        self,
        heads: Sequence[bytes | Start],
        stop: int,
        *,
        score: Collection[str],
        seconds: float | None = None,
    ) -> list[SegmentResult]:
        """Train heads that stand at one position up to `stop`, or as far as they come in so many seconds.

        Those named in `score` are told what they are worth where they came to `stop`, and all that have
        learned.
        """
        states = [self._state(head) for head in heads]
        data = self.training_data(states)
        trained = train_segment(data, _given_away(states), stop, seconds=seconds)
        arrived = [
            end.state
            for end in trained
            if isinstance(end, Trained)
            and (end.has_learned or (end.trial in score and end.state.position == stop))
        ]
        found = self._worth(arrived, data)
        return [_outcome(end, found, data.rows) for end in trained]

    def solve(self, rungs: Sequence[Start]) -> list[Final | Diverged]:
        """Heads that need no training, with their answers as of those that are trained."""
        states = [self.fresh(rung) for rung in rungs]
        heads = [state.heads(self._standard) for state in states]
        solve_heads(heads, self._training_data(states, torch.float32))
        return self._finals(states, heads)

    def final(self, states: Sequence[bytes]) -> list[Final | Diverged]:
        """Answers on the rows that choose and on report, in one shared pass over each.

        A head whose answers are no numbers has diverged.
        """
        loaded = [HeadState.from_bytes(state) for state in states]
        return self._finals(loaded, [state.heads(self._standard, at_best=True) for state in loaded])

    def finale(self, finalists: Sequence[Finalist]) -> list[FinalistResult | Diverged]:
        """Train heads once more, on all rows, for as many passes as the search found best, in one pack."""
        labels_ND, kind = labels_of(self._everything), self._task.kind
        states = [
            HeadState.fresh(
                each.trial,
                each.config,
                self.shape,
                self._constants(labels_ND, each.config.training, None).expand(each.copies, -1)
                if each.config.reads_standard
                else None,
                copies=each.copies,
            )
            for each in finalists
        ]
        data = TrainingData(
            rows=self._rows(self._everything, self._inputs_of(states), self._dtype),
            standard=self._standard,
            labels_ND=labels_ND,
            kind=kind,
            judge=None,
        )
        ends = train_out(data, states, {each.trial: self._stop(each) for each in finalists})
        encores = self._encores([end.state for end in ends if isinstance(end, Trained)], data.rows)
        return [end if isinstance(end, Diverged) else next(encores) for end in ends]

    def _encores(self, states: Sequence[HeadState], rows: Rows) -> Iterator[FinalistResult | Diverged]:
        """The mean of its copies, and the first by itself: each is judged, for neither was chosen."""
        bags = [state.heads(self._standard, at_best=True) for state in states]
        singles = [copies[:1] for copies in bags]
        verdicts = self._verdicts([*bags, *singles], Role.REPORT) if bags else []
        half = len(bags)
        told = zip(states, bags, singles, verdicts[:half], verdicts[half:], strict=True)
        for state, copies, first, bagged, single in told:
            if bagged is None or single is None:
                yield Diverged(trial=state.trial, position=state.position, what="answers")
            else:
                yield FinalistResult(
                    trial=state.trial,
                    rows=rows.seen(state.config.training.rows(rows.split.windows), state.position),
                    bagged=self._finished(state, copies, bagged),
                    single=self._finished(state, first, single),
                )

    def _stop(self, finalist: Finalist) -> int:
        splits, training = (self._everything, self._learned), finalist.config.training
        now, then = (Course.of(training, split.windows) for split in splits)
        return now.as_far_as(finalist.position, then)

    def _finals(self, states: Sequence[HeadState], heads: Sequence[Copies]) -> list[Final | Diverged]:
        select, report = (self._verdicts(heads, role) for role in (Role.SELECT, Role.REPORT))
        return [
            Diverged(trial=state.trial, position=state.position, what="answers")
            if chosen is None or told is None
            else Final(
                **vars(self._finished(state, copies, told)),
                select=chosen.answers(self._ids[Role.SELECT], told=False),
                train=self._out_of_fold(chosen),
            )
            for state, copies, chosen, told in zip(states, heads, select, report, strict=True)
        ]

    def _out_of_fold(self, chosen: Verdict) -> HeadLogits | None:
        ids = self._ids[Role.TRAIN]
        return HeadLogits(ids=ids, logits=chosen.logits[: len(ids)]) if ids else None

    def _finished(self, state: HeadState, heads: Copies, report: Verdict) -> Finished:
        return Finished(
            trial=state.trial,
            shape=state.shape,
            weights=weights_bytes(heads),
            copies=len(heads),
            parameters=count_all(heads),
            report=report.answers(self._ids[Role.REPORT], told=True),
        )

    @cached_property
    def _ids(self) -> dict[Role, list[str]]:
        """Of the windows that judge heads; of train some do with folds alone."""
        ids = {role: role_index(self._store, role, ["id"])["id"].to_numpy() for role in Role}
        judging = slice(0) if self._folds is None else self._folds.judged_train(self._store)
        ids[Role.TRAIN] = ids[Role.TRAIN][judging]
        return {role: own.tolist() for role, own in ids.items()}

    def fresh(self, head: Start) -> HeadState:
        """Heads on standard inputs start from the best constant answer, those on raw ones from zero."""
        training, constants_KC = head.config.training, None
        if head.config.reads_standard:
            constants_KC = self._constants(self._labels_ND, training, self._folds)
        return HeadState.fresh(head.trial, head.config, self.shape, constants_KC, copies=self._copies)

    def _state(self, head: bytes | Start) -> HeadState:
        return self.fresh(head) if isinstance(head, Start) else HeadState.from_bytes(head)

    def training_data(self, states: Sequence[HeadState]) -> TrainingData:
        """What these heads train on."""
        return self._training_data(states, self._dtype)

    def _training_data(self, states: Sequence[HeadState], dtype: torch.dtype) -> TrainingData:
        inputs = self._inputs_of(states)
        return TrainingData(
            rows=self._rows(self._learned, inputs, dtype),
            standard=self._standard,
            labels_ND=self._labels_ND,
            kind=self._task.kind,
            judge=self._judge(Role.SELECT, inputs, dtype),
            folds=self._folds,
        )

    def _inputs_of(self, states: Sequence[HeadState]) -> list[Inputs]:
        kinds = {state.config.reads_standard for state in states}
        return [self._standard if standard else None for standard in sorted(kinds)]

    def _rows(self, split: AnySplit, inputs: Sequence[Inputs], dtype: torch.dtype) -> Rows:
        """Kept: what is in memory once is there for every segment."""
        key = split.name, frozenset(inputs), dtype
        if key not in self._opened:
            wanted = WantedStates(inputs=inputs, device=self._device, dtype=dtype)
            self._opened[key] = open_rows(split, wanted)
        return self._opened[key]

    def _judge(self, role: Role, inputs: Sequence[Inputs], dtype: torch.dtype) -> Judge:
        """Who chooses, looks at select; with folds, at all rows that heads learn from."""
        if role is Role.SELECT and self._folds is not None:
            return FoldJudge(self._rows(self._learned, inputs, dtype), self._folds)
        rows = [self._rows(split, inputs, dtype) for split in self._store.splits(role)]
        return RoleJudge(self._store, role, rows)

    @cached_property
    def _learned(self) -> AnySplit:
        return learned_split(self._store, folds=self._copies)

    @cached_property
    def _everything(self) -> AnySplit:
        return joined_split(self._store)

    @cached_property
    def _folds(self) -> Folds | None:
        return Folds.of(self._store, self._copies) if self._copies > 1 else None

    @cached_property
    def _labels_ND(self) -> np.ndarray:
        return labels_of(self._learned)

    def _constants(self, labels_ND: np.ndarray, training: TrainingConfig, folds: Folds | None) -> Tensor:
        """constants_KC, of the rows that a head of its share of the data learns from."""
        rows = training.rows(len(labels_ND))
        own = None if folds is None else folds.first(rows)
        answers_KC = constant_answers(labels_ND[:rows], self._task.kind, self._task.outputs, own)
        return self._standard.outputs(answers_KC)

    @cached_property
    def _standard(self) -> Standard:
        statistics = self._store.statistics
        values = value_moments(self._labels_ND) if self.shape.is_value else None
        return Standard.of(statistics.mean_LH, statistics.scale_LH, values).to(self._device)

    def _worth(self, states: Sequence[HeadState], data: TrainingData) -> dict[str, Check | None]:
        """On select, at its best check, or now where it had none; None where its answers are no numbers."""
        found: dict[str, Check | None] = {state.trial: state.checks.best for state in states}
        unchecked = [state for state in states if state.checks.best is None]
        if unchecked:
            assert data.judge is not None, "a search has rows to choose by"
            verdicts = data.judge.judge([state.heads(self._standard) for state in unchecked])
            for state, verdict in zip(unchecked, verdicts, strict=True):
                if verdict is not None:
                    course = Course.of(state.config.training, data.rows.split.windows)
                    found[state.trial] = data.check(course, state.position, verdict)
        return found

    def _verdicts(self, heads: Sequence[Copies], role: Role) -> list[Verdict | None]:
        """None for a head whose answers are no numbers."""
        inputs = share_inputs(head for copies in heads for head in copies)
        return self._judge(role, inputs, torch.float32).judge(heads)


def _given_away(states: list[HeadState]) -> Iterator[HeadState]:
    """One at a time: each is as large as the learner that is made of it."""
    while states:
        yield states.pop(0)


def _outcome(end: Trained | Diverged, found: Mapping[str, Check | None], rows: Rows) -> SegmentResult:
    if isinstance(end, Trained) and end.trial in found and found[end.trial] is None:
        end = Diverged(trial=end.trial, position=end.state.position, what="answers")
    if isinstance(end, Diverged):
        return SegmentResult(trial=end.trial, position=end.position, rows=0, failure=str(end))
    state = end.state
    return SegmentResult(
        trial=end.trial,
        position=state.position,
        rows=rows.seen(state.config.training.rows(rows.split.windows), state.position),
        state=state.to_bytes(),
        has_learned=end.has_learned,
        checks=end.checks,
        found=found.get(end.trial),
    )


def _fed_live(store: Store, device: torch.device) -> Store:
    from bv_search.source.live import feed_live  # with transformers, which reading a store does without

    return feed_live(store, device=str(device))
