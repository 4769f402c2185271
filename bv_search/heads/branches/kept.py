"""Dense layers on what dropout leaves of their features.

Each branch has a mask of its own for each step, so no product is shared.

K readings, M inputs, X numbers of a row of an input, F features of a reading, N of all.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bv_search.cpu.kept import STORED, CompiledKept
from bv_search.heads.branches.dropout import Dropout
from bv_search.heads.branches.product import gradient, product


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


FEW_OUTPUTS = 16
"""Of a reading; for more than these a mask and a product are faster than one loop."""


class _ReadKept(torch.autograd.Function):
    """x_MTX, readings, the step, then the dense layer of each reading → out_KTC."""

    @staticmethod
    def forward(ctx: Any, x_MTX: Tensor, readings: Sequence[Reading], step: int, *denses: Tensor) -> Tensor:
        work: CompiledKept | _OneByOne
        are_few = denses[0].shape[1] <= FEW_OUTPUTS
        if are_few and x_MTX.device.type == "cpu" and x_MTX.dtype in STORED:
            drawings = [reading.dropout.drawing(step, reading.part) for reading in readings]
            work = CompiledKept(denses, [(each.input, each.start) for each in readings], drawings)
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


class _OneByOne:
    """One after the other, by torch."""

    def __init__(self, readings: Sequence[Reading], step: int, denses: Sequence[Tensor]) -> None:
        self._readings, self._step, self._denses = readings, step, denses

    def read(self, x_MTX: Tensor) -> Tensor:
        pairs = zip(self._readings, self._denses, strict=True)
        return torch.stack([product(self._kept(x_MTX, reading), dense_FC.t()) for reading, dense_FC in pairs])

    def learn(self, x_MTX: Tensor, grad_KTC: Tensor) -> list[Tensor]:
        pairs = zip(self._readings, grad_KTC, strict=True)
        return [gradient(self._kept(x_MTX, reading), grad_TC) for reading, grad_TC in pairs]

    def pass_on(self, x_MTX: Tensor, grad_KTC: Tensor) -> Tensor:
        grad_MTX = torch.zeros_like(x_MTX)
        for reading, dense_FC, grad_TC in zip(self._readings, self._denses, grad_KTC, strict=True):
            grad_TF = product(grad_TC, dense_FC)
            _features(grad_MTX, reading).add_(self._dropped(grad_TF, reading))
        return grad_MTX

    def _kept(self, x_MTX: Tensor, reading: Reading) -> Tensor:
        return self._dropped(_features(x_MTX, reading).to(reading.dense_FC.dtype), reading)

    def _dropped(self, features_TF: Tensor, reading: Reading) -> Tensor:
        return reading.dropout(features_TF, self._step, reading.part)


def _features(x_MTX: Tensor, reading: Reading) -> Tensor:
    return x_MTX[reading.input, :, reading.start : reading.start + len(reading.dense_FC)]
