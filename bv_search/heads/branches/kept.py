"""Dense layers on what dropout leaves of their features.

Each branch has a mask of its own for each step, so no product is shared. On a CPU one compiled loop goes
through all of them: it draws a row of a mask, multiplies and adds up, and draws it again for the gradient.

K readings, M inputs, X numbers of a row of an input, F features of a reading, N of all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bv_search.heads.branches import kernel
from bv_search.heads.branches.dropout import Dropout


@dataclass(frozen=True, kw_only=True, eq=False)
class Reading:
    """One dense layer on features of one input."""

    dense_FC: Tensor
    dropout: Dropout
    input: int = 0
    start: int = 0  # of the features in a row of the input
    part: int = 0  # which of its branch's readings it is

    @classmethod
    def at(cls, place: tuple[int, int], dense_FC: Tensor, dropout: Dropout | None, part: int = 0) -> Self:
        assert dropout is not None, "a branch that drops nothing reads its columns"
        return cls(dense_FC=dense_FC, dropout=dropout, input=place[0], start=place[1], part=part)


def read_kept(x_MTX: Tensor, readings: Sequence[Reading], step: int) -> list[Tensor]:
    """out_TC of each."""
    denses = (reading.dense_FC for reading in readings)
    out_KTC: Tensor = _ReadKept.apply(x_MTX, readings, step, *denses)  # type: ignore[no-untyped-call]
    return list(out_KTC.unbind())


def lay_out(hidden_LTH: Tensor) -> tuple[Tensor, list[tuple[int, int]]]:
    """Hidden states as inputs whose rows are in one piece; of each layer, its input and where it starts."""
    layers, _, width = hidden_LTH.shape
    hidden_TLH = hidden_LTH.transpose(0, 1)
    if hidden_TLH.is_contiguous():
        return hidden_TLH.flatten(1)[None], [(0, layer * width) for layer in range(layers)]
    return hidden_LTH.contiguous(), [(layer, 0) for layer in range(layers)]


class _ReadKept(torch.autograd.Function):
    """x_MTX, readings, the step, then the dense layer of each reading → out_KTC."""

    @staticmethod
    def forward(ctx: Any, x_MTX: Tensor, readings: Sequence[Reading], step: int, *denses: Tensor) -> Tensor:
        if x_MTX.device.type == "cpu" and x_MTX.dtype in STORED:
            work: _Compiled | _OneByOne = _Compiled(readings, step, denses)
        else:
            work = _OneByOne(readings, step, denses)
        ctx.save_for_backward(x_MTX)
        ctx.work = work
        return work.read(x_MTX)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_KTC: Tensor) -> Any:
        (x_MTX,) = ctx.saved_tensors
        grad_KTC = grad_KTC.contiguous()
        grad_MTX = ctx.work.pass_on(x_MTX, grad_KTC) if ctx.needs_input_grad[0] else None
        return grad_MTX, None, None, *ctx.work.learn(x_MTX, grad_KTC)


STORED = {torch.float32: torch.float32, torch.bfloat16: torch.uint16}
"""What compiled loops read, and what NumPy takes it for."""


class _Compiled:
    """On a CPU."""

    def __init__(self, readings: Sequence[Reading], step: int, denses: Sequence[Tensor]) -> None:
        self._dense_CN = torch.cat([dense_FC.t() for dense_FC in denses], dim=1)
        self._sizes = [len(dense_FC) for dense_FC in denses]
        borders = pairwise(accumulate(self._sizes, initial=0))
        places = ((r.input, r.start, *border) for r, border in zip(readings, borders, strict=True))
        self._readings = np.array(list(places), np.int64)
        drawn = [reading.dropout.drawing(step, reading.part) for reading in readings]
        kinds = (np.uint32, np.uint32, np.uint32, np.float32)
        columns = zip(kinds, zip(*drawn, strict=True), strict=True)
        self._drawings = tuple(np.array(column, kind) for kind, column in columns)

    def read(self, x_MTX: Tensor) -> Tensor:
        out_KTC = torch.empty(len(self._sizes), x_MTX.shape[1], len(self._dense_CN))
        dense_CN = self._dense_CN.numpy()
        kernel.read_kept(_stored(x_MTX), self._readings, self._drawings, dense_CN, out_KTC.numpy())
        return out_KTC

    def learn(self, x_MTX: Tensor, grad_KTC: Tensor) -> list[Tensor]:
        """The gradients of the dense layers."""
        grad_CN = torch.zeros_like(self._dense_CN)
        kernel.learn_kept(_stored(x_MTX), self._readings, self._drawings, grad_KTC.numpy(), grad_CN.numpy())
        return [each_CF.t() for each_CF in torch.split(grad_CN, self._sizes, dim=1)]

    def pass_on(self, x_MTX: Tensor, grad_KTC: Tensor) -> Tensor:
        """The gradient of the features."""
        grad_MTX = torch.zeros(x_MTX.shape)
        dense_CN = self._dense_CN.numpy()
        kernel.pass_kept(self._readings, self._drawings, dense_CN, grad_KTC.numpy(), grad_MTX.numpy())
        return grad_MTX.to(x_MTX.dtype)


class _OneByOne:
    """Elsewhere."""

    def __init__(self, readings: Sequence[Reading], step: int, denses: Sequence[Tensor]) -> None:
        self._readings, self._step, self._denses = readings, step, denses

    def read(self, x_MTX: Tensor) -> Tensor:
        pairs = zip(self._readings, self._denses, strict=True)
        return torch.stack([self._kept(x_MTX, reading) @ dense_FC for reading, dense_FC in pairs])

    def learn(self, x_MTX: Tensor, grad_KTC: Tensor) -> list[Tensor]:
        pairs = zip(self._readings, grad_KTC, strict=True)
        return [self._kept(x_MTX, reading).t() @ grad_TC for reading, grad_TC in pairs]

    def pass_on(self, x_MTX: Tensor, grad_KTC: Tensor) -> Tensor:
        grad_MTX = torch.zeros_like(x_MTX)
        for reading, dense_FC, grad_TC in zip(self._readings, self._denses, grad_KTC, strict=True):
            grad_TF = grad_TC @ dense_FC.t()
            _features(grad_MTX, reading).add_(self._dropped(grad_TF, reading))
        return grad_MTX

    def _kept(self, x_MTX: Tensor, reading: Reading) -> Tensor:
        return self._dropped(_features(x_MTX, reading).to(reading.dense_FC.dtype), reading)

    def _dropped(self, features_TF: Tensor, reading: Reading) -> Tensor:
        return reading.dropout(features_TF, self._step, reading.part)


def _features(x_MTX: Tensor, reading: Reading) -> Tensor:
    return x_MTX[reading.input, :, reading.start : reading.start + len(reading.dense_FC)]


def _stored(x_MTX: Tensor) -> np.ndarray:
    x_MTX = x_MTX.detach().contiguous()
    return x_MTX.view(STORED[x_MTX.dtype]).numpy()
