"""Climbing the ladder: heads whose best weights can be solved for, instead of trained.

N rows, L channels, H width, F features of a probe, C outputs.
"""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from bv_search.heads.config import ConstantHead, LinearHead
from bv_search.heads.head import Head
from bv_search.scan.capacity import FLOAT_BYTES
from bv_search.scan.loss import constant_answer
from bv_search.scan.probe import MOST_ROWS, Examples, fit_probe
from bv_search.scan.rows import Rows
from bv_search.scan.segment import TrainingData

MOST_BYTES = 2 << 30  # of the features that probes learn from


def solve_heads(heads: Sequence[Head], data: TrainingData) -> None:
    """Give each head its best weights."""
    linear = [head for head in heads if isinstance(head.config, LinearHead)]
    for head in heads:
        if isinstance(head.config, ConstantHead):
            labels_ND = torch.from_numpy(data.labels_ND)
            head.bias_C.data.copy_(constant_answer(labels_ND, data.kind, head.shape.outputs))
    if linear:
        _solve_probes(linear, data)


def _solve_probes(heads: Sequence[Head], data: TrainingData) -> None:
    train_NLH = _first_tokens([data.rows])
    select_NLH = _first_tokens(data.judge.rows)
    labels_N = data.labels_ND[: len(train_NLH), 0]

    def judge(logits_NC: np.ndarray) -> tuple[float, float]:
        verdict = data.judge.weigh(logits_NC.astype(np.float32))
        assert verdict is not None, "a solved probe has finite answers"
        return verdict.score, verdict.loss

    for head in heads:
        assert isinstance(head.config, LinearHead)
        here = slice(None) if head.config.channels == "all" else [head.config.channels]
        examples = Examples(
            x_NF=train_NLH[:, here].reshape(len(train_NLH), -1),
            labels_N=labels_N,
            kind=data.kind,
            outputs=head.shape.outputs,
        )
        probe = fit_probe(examples, select_NLH[:, here].reshape(len(select_NLH), -1), judge)
        (dense,) = (parameter for name, parameter in head.named_parameters() if name != "bias_C")
        dense.data.copy_(torch.from_numpy(probe.weights_FC).view(dense.shape))
        head.bias_C.data.copy_(torch.from_numpy(probe.bias_C))


def _first_tokens(rows: Sequence[Rows]) -> np.ndarray:
    """Standardised, of the first rows, as many as probes take."""
    taken: list[Tensor] = []
    count = 0
    for batch in (batch for each in rows for batch in each.all()):
        (hidden_LTH,) = (states for inputs, states in batch.states.items() if inputs is not None)
        firsts_N = batch.lengths_N.cumsum(0) - batch.lengths_N
        taken.append(hidden_LTH[:, firsts_N].transpose(0, 1).cpu())
        count += len(firsts_N)
        most = min(MOST_ROWS, MOST_BYTES // (FLOAT_BYTES * hidden_LTH[:, 0].numel()))
        if count >= most:
            break
    return torch.cat(taken)[:most].numpy()
