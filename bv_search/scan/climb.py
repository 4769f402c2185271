"""Climbing the ladder: heads whose best weights can be solved for, instead of trained.

N rows, L channels, H width, F features of a probe, K copies, C outputs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

from bv_search.heads.config import ConstantHead, LinearHead
from bv_search.heads.copies import Copies
from bv_search.heads.head import Head
from bv_search.scan.batch import Batch
from bv_search.scan.capacity import FLOAT_BYTES
from bv_search.scan.folds import Folds
from bv_search.scan.judge import FoldJudge, Judge, RoleJudge
from bv_search.scan.loss import constant_answer
from bv_search.scan.probe import MOST_ROWS, Lesson, Probe, fit_probes
from bv_search.scan.rows import Rows
from bv_search.scan.segment import TrainingData
from bv_search.store.store import Store
from bv_search.tasks.task import Kind, Logits

MOST_BYTES = 2 << 30  # of the features that probes learn from
MOST_THREADS = 4  # each has features of its own

Here = slice | list[int]
"""The channels that a probe reads."""


def solve_heads(heads: Sequence[Copies], data: TrainingData) -> None:
    """Give each head its best weights: each copy those for the rows that it learns from."""
    for copies in heads:
        if isinstance(copies[0].config, ConstantHead):
            outputs = copies[0].shape.outputs
            constants_KC = constant_answers(data.labels_ND, data.kind, outputs, data.folds)
            for head, constant_C in zip(copies, constants_KC, strict=True):
                head.bias_C.data.copy_(constant_C)
    probes = [copies for copies in heads if isinstance(copies[0].config, LinearHead)]
    if probes:
        school = _plain_school(data) if data.folds is None else _fold_school(data, data.folds)
        for copies in probes:
            school.teach(copies)


def constant_answers(labels_ND: np.ndarray, kind: Kind, outputs: int, folds: Folds | None) -> Tensor:
    """constants_KC: of each copy the best one for what it learns from."""
    labels = torch.from_numpy(labels_ND)
    if folds is None:
        return constant_answer(labels, kind, outputs)[None]
    learned = (labels[torch.from_numpy(folds.of_N != copy)] for copy in range(folds.count))
    return torch.stack([constant_answer(own, kind, outputs) for own in learned])


@dataclass(frozen=True, kw_only=True)
class _School:
    """The lesson of each copy of a probe, by the channels that it reads, and who judges them together."""

    lessons: Sequence[Callable[[Here], Lesson]]
    judge: Judge
    order_logits: Callable[[Sequence[Logits]], Logits]  # of all lessons, as the judge wants them

    def teach(self, copies: Copies) -> None:
        config = copies[0].config
        assert isinstance(config, LinearHead)
        here: Here = slice(None) if config.channels == "all" else [config.channels]
        lessons = [partial(lesson, here) for lesson in self.lessons]
        threads = min(len(lessons), torch.get_num_threads(), MOST_THREADS)
        for head, probe in zip(copies, fit_probes(lessons, self._worth, threads=threads), strict=True):
            _give_weights(head, probe)

    def _worth(self, said: Sequence[Logits]) -> tuple[float, float]:
        verdict = self.judge.weigh(self.order_logits(said).astype(np.float32))
        assert verdict is not None, "a solved probe has finite answers"
        return verdict.score, verdict.loss


def _plain_school(data: TrainingData) -> _School:
    """Of the first rows of train, judged by the first ones of select."""
    assert isinstance(data.judge, RoleJudge)
    train_NLH, select_NLH = _first_rows([data.rows]), _first_rows(data.judge.rows)
    store = data.rows.split.store

    def lesson(here: Here) -> Lesson:
        return Lesson(
            x_NF=_features(train_NLH, here),
            labels_N=data.labels_ND[: len(train_NLH), 0],
            kind=data.kind,
            outputs=store.task.outputs,
            asked_NF=_features(select_NLH, here),
        )

    return _School(lessons=[lesson], judge=data.judge, order_logits=lambda said: said[0])


def _fold_school(data: TrainingData, folds: Folds) -> _School:
    """Of all rows but a fold's, judged by what is said of these; where there are too many, of the last."""
    split = data.rows.split
    windows = np.arange(max(0, split.windows - _most_rows(split.store)), split.windows)
    hidden_NLH, folds_N = _rows_of(data.rows, windows), folds.of_N[windows]
    judged = folds.among(windows)
    asked = judged.judged - windows[0]

    def lesson(copy: int, here: Here) -> Lesson:
        learned = np.flatnonzero(folds_N != copy)
        return Lesson(
            x_NF=_features(hidden_NLH, here, learned),
            labels_N=data.labels_ND[windows[learned], 0],
            kind=data.kind,
            outputs=split.store.task.outputs,
            asked_NF=_features(hidden_NLH, here, asked[folds_N[asked] == copy]),
        )

    def order_logits(said: Sequence[Logits]) -> Logits:
        logits_NC = np.empty((len(asked), said[0].shape[1]), np.float32)
        for copy, own in enumerate(said):
            logits_NC[folds_N[asked] == copy] = own
        return logits_NC

    lessons = [partial(lesson, copy) for copy in range(folds.count)]
    return _School(lessons=lessons, judge=FoldJudge(data.rows, judged), order_logits=order_logits)


def _features(hidden_NLH: np.ndarray, here: Here, rows: np.ndarray | slice = slice(None)) -> np.ndarray:
    """x_NF: the channels of a row side by side."""
    chosen = hidden_NLH[:, here][rows]
    return chosen.reshape(len(chosen), -1)


def _give_weights(head: Head, probe: Probe) -> None:
    (dense,) = (parameter for name, parameter in head.named_parameters() if name != "bias_C")
    dense.data.copy_(torch.from_numpy(probe.weights_FC).view(dense.shape))
    head.bias_C.data.copy_(torch.from_numpy(probe.bias_C))


def _first_rows(rows: Sequence[Rows]) -> np.ndarray:
    """hidden_NLH: first tokens, standardised, of the first rows, as many as probes take."""
    most = _most_rows(rows[0].split.store)
    taken: list[Tensor] = []
    count = 0
    for batch in (batch for each in rows for batch in each.all()):
        taken.append(_first_tokens(batch))
        count += len(batch.lengths_N)
        if count >= most:
            break
    return torch.cat(taken)[:most].numpy()


def _rows_of(rows: Rows, windows: np.ndarray) -> np.ndarray:
    """The same of neighbouring windows."""
    hidden_NLH = np.empty((len(windows), *rows.split.store.manifest.shape), np.float32)
    for batch in rows.owned(np.where(np.arange(rows.split.windows) < windows[0], -1, 0)):
        hidden_NLH[batch.windows - windows[0]] = _first_tokens(batch).numpy()
    return hidden_NLH


def _first_tokens(batch: Batch) -> Tensor:
    """hidden_NLH, standardised."""
    (hidden_LTH,) = (states for inputs, states in batch.states.items() if inputs is not None)
    firsts_N = batch.lengths_N.cumsum(0) - batch.lengths_N
    return hidden_LTH[:, firsts_N].transpose(0, 1).cpu()


def _most_rows(store: Store) -> int:
    layers, width = store.manifest.shape
    return min(MOST_ROWS, MOST_BYTES // (FLOAT_BYTES * layers * width))
