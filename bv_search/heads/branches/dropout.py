"""Dropout of the features that enter a head's dense layer.

What is dropped depends on the head's seed, the branch, and the step alone: not on what runs beside the
head, nor on what ran before it.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import xxhash
from torch import Generator, Tensor
from torch.autograd.function import once_differentiable

from bv_search.heads.branches import kernel


@dataclass(frozen=True, kw_only=True)
class Dropout:
    rate: float  # share of the features
    seed: int  # of the head
    branch: int  # its number in the head

    def __call__(self, features: Tensor, step: int, part: int = 0) -> Tensor:
        """`part` numbers the pieces where features of one step are made piece by piece."""
        return features * self.mask(features.shape, features.device, step, part)

    def mask(self, shape: Sequence[int], device: torch.device, step: int, part: int = 0) -> Tensor:
        """What features are multiplied with: zero, or what makes up for the zeros."""
        mask = torch.empty(*shape, device=device)
        if device.type == "cpu":
            kernel.draw_mask(mask.numpy().reshape(-1, shape[-1]), self.drawing(step, part))
            return mask
        generator = Generator(device).manual_seed(self._drawn(step, part) >> 1)
        return mask.bernoulli_(1.0 - self.rate, generator=generator).div_(1.0 - self.rate)

    def read(self, features_TF: Tensor, dense_FC: Tensor, step: int, part: int = 0) -> Tensor:
        """out_TC of a dense layer on what is left, which is not kept: it is made again for the gradient."""
        out_TC: Tensor = _ReadKept.apply(features_TF, dense_FC, self, step, part)  # type: ignore[no-untyped-call]
        return out_TC

    def drawing(self, step: int, part: int) -> Any:
        return kernel.drawing(self._drawn(step, part), self.rate)

    def _drawn(self, step: int, part: int) -> int:
        return xxhash.xxh3_64_intdigest(struct.pack("<QQQQ", self.seed, self.branch, step, part))


class _ReadKept(torch.autograd.Function):
    """features_TF, dense_FC, dropout, step, part → out_TC."""

    @staticmethod
    def forward(
        ctx: Any, features_TF: Tensor, dense_FC: Tensor, dropout: Dropout, step: int, part: int
    ) -> Tensor:
        ctx.save_for_backward(features_TF, dense_FC)
        ctx.dropout, ctx.step, ctx.part = dropout, step, part
        if not _is_compiled(features_TF):
            return dropout(features_TF, step, part) @ dense_FC
        out_TC = features_TF.new_empty(len(features_TF), dense_FC.shape[1])
        drawing = dropout.drawing(step, part)
        kernel.read_kept(*_rows(features_TF), drawing, _turned(dense_FC), out_TC.numpy())
        return out_TC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TC: Tensor) -> Any:
        features_TF, dense_FC = ctx.saved_tensors
        learn = _learn_compiled if _is_compiled(features_TF) else _learn
        return *learn(ctx, features_TF, dense_FC, grad_TC), None, None, None


def _is_compiled(features_TF: Tensor) -> bool:
    return features_TF.device.type == "cpu" and features_TF.dtype == torch.float32


def _learn_compiled(
    ctx: Any, features_TF: Tensor, dense_FC: Tensor, grad_TC: Tensor
) -> tuple[Tensor | None, Tensor]:
    """The gradients of the features, where they are wanted, and of the dense layer."""
    drawing, grad = ctx.dropout.drawing(ctx.step, ctx.part), grad_TC.contiguous().numpy()
    grad_CF = dense_FC.new_zeros(dense_FC.shape[::-1])
    kernel.learn_kept(*_rows(features_TF), drawing, grad, grad_CF.numpy())
    grad_TF = None
    if ctx.needs_input_grad[0]:
        grad_TF = torch.empty(features_TF.shape)
        kernel.keep_gradient(drawing, _turned(dense_FC), grad, grad_TF.numpy())
    return grad_TF, grad_CF.t()


def _learn(ctx: Any, features_TF: Tensor, dense_FC: Tensor, grad_TC: Tensor) -> tuple[Tensor | None, Tensor]:
    mask_TF = ctx.dropout.mask(features_TF.shape, features_TF.device, ctx.step, ctx.part)
    grad_TF = (grad_TC @ dense_FC.t()) * mask_TF if ctx.needs_input_grad[0] else None
    return grad_TF, (features_TF * mask_TF).t() @ grad_TC


def _turned(dense_FC: Tensor) -> np.ndarray:
    return dense_FC.detach().t().contiguous().numpy()


def _rows(features_TF: Tensor) -> tuple[np.ndarray, int]:
    """Rows that lie one behind the other in memory, and the column in them where the features begin."""
    length, step = features_TF.stride()
    if step != 1 or length < features_TF.shape[1]:
        return features_TF.contiguous().numpy(), 0
    start = int(features_TF.storage_offset()) % length
    whole = features_TF.detach().as_strided(
        (len(features_TF), length), (length, 1), features_TF.storage_offset() - start
    )
    return whole.numpy(), start
