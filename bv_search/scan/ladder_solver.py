"""The rungs of the ladder whose best weights can be solved for, instead of trained.

N rows, L channels, H width, F features of a probe, K copies, C outputs.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from bv_search.heads.config import ConstantHead, LinearHead
from bv_search.heads.copies import Copies
from bv_search.heads.head import Head
from bv_search.scan.batch import Batch
from bv_search.scan.capacity import FLOAT_BYTES
from bv_search.scan.folds import Folds
from bv_search.scan.judge import FoldJudge, Judge, RoleJudge
from bv_search.scan.loss import CONSTANTS
from bv_search.scan.probe import MOST_ROWS, TOGETHER, Lesson, Mask, Probe, fit_probes
from bv_search.scan.rows import Rows
from bv_search.scan.segment import TrainingData
from bv_search.store.store import Store
from bv_search.tasks.task import Kind, Logits

MOST_BYTES = 2 << 30  # of the features that probes learn from
MOST_THREADS = 4  # each has the features of a probe
ANSWER_BYTES = MOST_THREADS * 24  # while probes are solved, of what one says of a row and a class
WEIGHT_BYTES = 300  # of each weight that is solved for: L-BFGS remembers ten steps
SOLVER_BYTES = 4 << 30  # of the weights of all threads

ChannelSlice = slice
"""The channels that a probe reads."""


def solve_heads(heads: Sequence[Copies], data: TrainingData) -> None:
    """Give each head its best weights: each copy those for the rows that it learns from."""
    for copies in heads:
        if isinstance(copies[0].config, ConstantHead):
            outputs = copies[0].shape.outputs
            constants_KC = constant_answers(data.labels_ND, data.kind, outputs, data.folds)
            for head, constant_C in zip(copies, constants_KC, strict=True):
                head.say(constant_C)
    probes = [copies for copies in heads if isinstance(copies[0].config, LinearHead)]
    if probes:
        school = _plain_school(data) if data.folds is None else _fold_school(data, data.folds)
        # more threads inside of an operation change rounding; where others used the cores too, they made the
        # whole twenty times slower. The limit is the process's, so it is set once for all
        count = _threads(probes, data)  # before the limit, which is torch's too
        with threadpool_limits(1), ThreadPoolExecutor(count) as threads:
            longest_first = reversed(probes)  # that of all channels
            list(threads.map(school.teach, longest_first))


def _threads(probes: Sequence[Copies], data: TrainingData) -> int:
    """As many as have room for the weights that they solve for."""
    shape = probes[0][0].shape
    largest = shape.outputs * (1 + min(shape.layers * shape.width, len(data.labels_ND)))
    room = SOLVER_BYTES // (WEIGHT_BYTES * largest * _together(len(probes[0]), shape.outputs))
    return max(1, min(torch.get_num_threads(), MOST_THREADS, room))


def _together(copies: int, outputs: int) -> int:
    """Copies that are solved for at once."""
    return copies if outputs <= TOGETHER else 1


def constant_answers(labels_ND: np.ndarray, kind: Kind, outputs: int, folds: Folds | None) -> Tensor:
    """constants_KC: of each copy the best one for what it learns from."""
    labels = torch.from_numpy(labels_ND)
    if folds is None:
        return CONSTANTS[kind](labels, outputs)[None]
    learned = (labels[torch.from_numpy(folds.of_N != copy)] for copy in range(folds.count))
    return torch.stack([CONSTANTS[kind](own, outputs) for own in learned])


@dataclass(frozen=True, kw_only=True)
class _School:
    """What all probes learn from; what the copies of one say of the rows that it is judged by."""

    train_NLH: np.ndarray
    labels_N: np.ndarray
    learned_NK: Mask
    judge: Judge
    ask: Callable[[ChannelSlice, Sequence[Probe]], Logits]

    def teach(self, copies: Copies) -> None:
        config, outputs = copies[0].config, copies[0].shape.outputs
        assert isinstance(config, LinearHead)
        here = slice(None) if config.channels == "all" else slice(config.channels, config.channels + 1)
        lesson = Lesson(
            x_NF=_features(self.train_NLH, here),
            labels_N=self.labels_N,
            learned_NK=self.learned_NK,
            kind=self.judge.kind,
            outputs=outputs,
        )
        for head, probe in zip(copies, fit_probes(lesson, partial(self._worth, here)), strict=True):
            _give_weights(head, probe)

    def _worth(self, here: ChannelSlice, probes: Sequence[Probe]) -> tuple[float, float]:
        verdict = self.judge.weigh(self.ask(here, probes).astype(np.float32))
        assert verdict is not None, "a solved probe has finite answers"
        return verdict.score, verdict.loss


def _plain_school(data: TrainingData) -> _School:
    """Of the first rows of train, judged by the first ones of select."""
    assert isinstance(data.judge, RoleJudge)
    train_NLH, select_NLH = _first_rows([data.rows]), _first_rows(data.judge.rows)
    return _School(
        train_NLH=train_NLH,
        labels_N=data.labels_ND[: len(train_NLH), 0],
        learned_NK=np.ones((len(train_NLH), 1), np.bool_),
        judge=data.judge,
        ask=lambda here, probes: probes[0].answer(_features(select_NLH, here)),
    )


def _fold_school(data: TrainingData, folds: Folds) -> _School:
    """Of all rows but a fold's, judged by what is said of these; where there are too many, of the last."""
    split = data.rows.split
    windows = np.arange(max(0, split.windows - _most_rows(split.store, folds.count)), split.windows)
    hidden_NLH, folds_N = _rows_of(data.rows, windows), folds.of_N[windows]
    judged = folds.among(windows)
    asked_N = judged.judged - windows[0]

    def ask(here: ChannelSlice, probes: Sequence[Probe]) -> Logits:
        logits_NC = np.empty((len(asked_N), len(probes[0].bias_C)), np.float32)
        for copy, probe in enumerate(probes):
            own = folds_N[asked_N] == copy
            logits_NC[own] = probe.answer(_features(hidden_NLH, here, asked_N[own]))
        return logits_NC

    return _School(
        train_NLH=hidden_NLH,
        labels_N=data.labels_ND[windows, 0],
        learned_NK=folds_N[:, None] != np.arange(folds.count),
        judge=FoldJudge(data.rows, judged),
        ask=ask,
    )


def _features(
    hidden_NLH: np.ndarray, here: ChannelSlice, rows: np.ndarray | slice = slice(None)
) -> np.ndarray:
    """x_NF: the channels of a row side by side."""
    chosen = hidden_NLH[:, here][rows]
    return chosen.reshape(len(chosen), -1)


def _give_weights(head: Head, probe: Probe) -> None:
    (dense,) = (parameter for name, parameter in head.named_parameters() if name != "bias_C")
    dense.data.copy_(torch.from_numpy(probe.weights_FC / head.unit).view(dense.shape))
    head.say(torch.from_numpy(probe.bias_C))


def _first_rows(rows: Sequence[Rows]) -> np.ndarray:
    """hidden_NLH: first tokens, standardised, of the first rows, as many as probes take."""
    most = _most_rows(rows[0].split.store, copies=1)
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


def _most_rows(store: Store, copies: int) -> int:
    """Many classes take as much as many features: each copy says something of each."""
    (layers, width), outputs = store.manifest.shape, store.task.outputs
    features, answers = FLOAT_BYTES * layers * width, ANSWER_BYTES * _together(copies, outputs) * outputs
    return max(1, min(MOST_ROWS, MOST_BYTES // max(features, answers)))
