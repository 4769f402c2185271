"""A scanner: one store, one device, and the two things done there: train a segment, score heads."""

from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np
import pyarrow as pa
import torch
from safetensors.torch import save

from bv_search.heads.config import HeadShape
from bv_search.heads.head import count_parameters
from bv_search.scan.capacity import pack_capacity
from bv_search.scan.ground import head_shape, role_index, train_split
from bv_search.scan.memory import prepare_memory
from bv_search.scan.order import rows_at
from bv_search.scan.outcome import Answers, Diverged, Final, Outcome, Start
from bv_search.scan.score import score_heads
from bv_search.scan.segment import TrainSplit, train_segment
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.source import LIVE, STORE
from bv_search.source.choice import Rates
from bv_search.source.exact import exact_matmuls
from bv_search.source.reference import EncoderReference
from bv_search.store.info import scan_rate
from bv_search.store.store import Store
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.row import Role


class Scanner:
    """`source` is store or live; `window` is how many bytes of blocks are in memory at once."""

    def __init__(
        self,
        store: str,
        *,
        source: str = STORE,
        window: int | None = None,
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
        stored = Store.open(store, window=window)
        self._store = _fed_live(stored, self._device) if source == LIVE else stored
        self._reserved = window or (stored.manifest.largest_block if source == LIVE else 0)
        self._task = self._store.task

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
            longest=int(self._source.split.lengths.max()),
            device=self._device,
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
    ) -> list[Outcome]:
        """Train heads that stand at one position up to `stop`, or as far as they come in so many seconds.

        Those named in `score` get one on select, where they came to `stop`.
        """
        states = (self._state(head) for head in heads)  # one at a time: each is as large as its learner
        trained = train_segment(self._source, states, stop, device=self._device, seconds=seconds)
        arrived = [end for end in trained if isinstance(end, HeadState) and end.position == stop]
        scores = self._select_scores([state for state in arrived if state.trial in score])
        return [self._outcome(end, scores) for end in trained]

    def final(self, states: Sequence[bytes]) -> list[Final | Diverged]:
        """Answers on select and report, in one shared pass over each.

        A head whose answers are no numbers has diverged.
        """
        loaded = [HeadState.from_bytes(state) for state in states]
        answers = [self._answers(loaded, role) for role in (Role.SELECT, Role.REPORT)]
        return [_final(state, *both) for state, *both in zip(loaded, *answers, strict=True)]

    def _state(self, head: bytes | Start) -> HeadState:
        if isinstance(head, Start):
            return HeadState.fresh(head.trial, head.config, self.shape)
        return HeadState.from_bytes(head)

    @cached_property
    def _source(self) -> TrainSplit:
        split = train_split(self._store)
        labels = np.stack(split.index_columns(["label"])["label"].to_numpy())
        return TrainSplit(split=split, labels_ND=labels, kind=self._task.kind, seed=self._store.manifest.seed)

    def _outcome(self, end: HeadState | Diverged, scores: dict[str, float | None]) -> Outcome:
        if end.trial in scores and scores[end.trial] is None:
            end = _without_answers(end)
        if isinstance(end, Diverged):
            return Outcome(trial=end.trial, position=end.position, rows=0, failure=str(end))
        split, seed = self._source.split, self._source.seed
        windows = end.config.training.rows(split.windows)
        rows = rows_at(split.block_windows, rows=windows, position=end.position, seed=seed)
        return Outcome(
            trial=end.trial,
            position=end.position,
            rows=rows,
            state=end.to_bytes(),
            score=scores.get(end.trial),
        )

    def _select_scores(self, states: Sequence[HeadState]) -> dict[str, float | None]:
        """None for a head whose answers are no numbers: its last step can be what breaks it."""
        return {
            state.trial: self._task.evaluate(self._select_index, logits).score
            if _are_numbers(logits)
            else None
            for state, logits in zip(states, self._logits(states, Role.SELECT), strict=True)
        }

    def _answers(self, states: Sequence[HeadState], role: Role) -> list[Answers | None]:
        """None for a head whose answers are no numbers."""
        index = self._index(role)
        ids = index["id"].to_pylist()
        return [
            _answers(ids, logits, self._task.evaluate(index, logits)) if _are_numbers(logits) else None
            for logits in self._logits(states, role)
        ]

    def _logits(self, states: Sequence[HeadState], role: Role) -> list[list[np.ndarray]]:
        """Of each head, over all splits of the role."""
        if not states:
            return []
        heads = [state.head() for state in states]
        by_split = [score_heads(heads, s, device=self._device) for s in self._store.splits(role)]
        return [[row for part in parts for row in part] for parts in zip(*by_split, strict=True)]

    def _index(self, role: Role) -> pa.Table:
        return self._select_index if role == Role.SELECT else self._report_index

    @cached_property
    def _select_index(self) -> pa.Table:
        return role_index(self._store, Role.SELECT)

    @cached_property
    def _report_index(self) -> pa.Table:
        return role_index(self._store, Role.REPORT)


def _answers(ids: list[str], logits: list[np.ndarray], evaluation: Evaluation) -> Answers:
    return Answers(
        ids=ids,
        logits=logits,
        score=evaluation.score,
        interval=evaluation.interval(),
        metrics=evaluation.metrics,
    )


def _final(state: HeadState, select: Answers | None, report: Answers | None) -> Final | Diverged:
    if select is None or report is None:
        return _without_answers(state)
    return Final(
        trial=state.trial,
        shape=state.shape,
        weights=save(dict(state.weights)),
        parameters=count_parameters(state.config.head, state.shape),
        select=select,
        report=report,
    )


def _without_answers(end: HeadState | Diverged) -> Diverged:
    return Diverged(trial=end.trial, position=end.position, what="answers")


def _are_numbers(logits: Sequence[np.ndarray]) -> bool:
    return all(np.isfinite(row).all() for row in logits)


def _fed_live(store: Store, device: torch.device) -> Store:
    from bv_search.source.live import feed_live  # with transformers, which reading a store does without

    return feed_live(store, device=str(device))
