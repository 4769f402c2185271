"""gelu and the dense layers of several heads behind it, there and back.

R rows; N features and X outputs of all heads side by side, A and C of one.
"""

from collections.abc import Sequence
from typing import Protocol, cast

import torch
from torch import Tensor
from torch.nn import functional

from bv_search.cpu.dense import CompiledDense
from bv_search.heads.branches.product import gradient, product

Masks = Sequence[Tensor | None]
"""What dropout leaves of each head's features; None: all."""


class Dense(Protocol):
    """Every head's outputs depend on its own features alone, whatever is in its neighbours'."""

    sizes: list[int]  # features of each head

    def read_out(self, before_RN: Tensor, masks_RA: Masks, out_RX: Tensor) -> None:
        """Add each head's outputs to out_RX."""

    def learn(
        self, before_RN: Tensor, masks_RA: Masks, grad_RX: Tensor, *, bias_N: Tensor, dense: Tensor
    ) -> Tensor:
        """The gradient of what is before the gelu; those of its bias and of the dense layers are added to."""

    def zero(self) -> Tensor:
        """A gradient of the dense layers, to be added to."""

    def of_heads(self, dense: Tensor) -> list[Tensor]:
        """Such a gradient of each head, (A, C)."""


FEW_OUTPUTS = 8
"""Of a head; of more than these, a product for each head is faster than what all of them share."""


def dense_of(dense_AC: Sequence[Tensor]) -> Dense:
    """As their device is fastest with them."""
    first_AC = dense_AC[0]
    if first_AC.shape[1] > FEW_OUTPUTS:
        return DenseApart(dense_AC)
    on_cpu = first_AC.device.type == "cpu" and first_AC.dtype == torch.float32
    return CompiledDense(dense_AC) if on_cpu else TorchDense(dense_AC)


class DenseApart:
    """A product for each head."""

    def __init__(self, dense_AC: Sequence[Tensor]) -> None:
        self.sizes = [len(each_AC) for each_AC in dense_AC]
        self._dense_AC = dense_AC
        self._outputs = dense_AC[0].shape[1]

    def read_out(self, before_RN: Tensor, masks_RA: Masks, out_RX: Tensor) -> None:
        features_RA, outs_RC = self._features(before_RN, masks_RA), self._of_outputs(out_RX)
        for each_RA, dense_AC, out_RC in zip(features_RA, self._dense_AC, outs_RC, strict=True):
            out_RC.add_(product(each_RA, dense_AC.t()))

    def learn(
        self, before_RN: Tensor, masks_RA: Masks, grad_RX: Tensor, *, bias_N: Tensor, dense: Tensor
    ) -> Tensor:
        features_RA, sums_AC = self._features(before_RN, masks_RA), self.of_heads(dense)
        grads_RC = [grad_RC.contiguous() for grad_RC in self._of_outputs(grad_RX)]
        for each_RA, grad_RC, sum_AC in zip(features_RA, grads_RC, sums_AC, strict=True):
            sum_AC.add_(gradient(each_RA, grad_RC))
        pairs = zip(grads_RC, self._dense_AC, strict=True)
        grads_RA = [product(grad_RC, dense_AC) for grad_RC, dense_AC in pairs]
        grad_RN = torch.ops.aten.gelu_backward(_joined(grads_RA, masks_RA), before_RN)
        bias_N += grad_RN.sum(dim=0)
        return cast("Tensor", grad_RN)

    def zero(self) -> Tensor:
        """Below each other."""
        first_AC = self._dense_AC[0]
        return first_AC.new_zeros(sum(self.sizes), self._outputs)

    def of_heads(self, dense: Tensor) -> list[Tensor]:
        return list(torch.split(dense, self.sizes))

    def _features(self, before_RN: Tensor, masks_RA: Masks) -> list[Tensor]:
        parts = zip(torch.split(before_RN, self.sizes, dim=1), masks_RA, strict=True)
        return [_masked(functional.gelu(before_RA), mask_RA) for before_RA, mask_RA in parts]

    def _of_outputs(self, each_RX: Tensor) -> Sequence[Tensor]:
        return torch.split(each_RX, self._outputs, dim=1)


class TorchDense:
    """The layers are blocks on a diagonal, and one product, with zeros outside of the blocks."""

    def __init__(self, dense_AC: Sequence[Tensor]) -> None:
        self.sizes = [len(each_AC) for each_AC in dense_AC]
        self._dense_AC = dense_AC
        self._outputs = [each_AC.shape[1] for each_AC in dense_AC]
        self._dense_NX: Tensor = torch.block_diag(*dense_AC)  # type: ignore[no-untyped-call]

    def read_out(self, before_RN: Tensor, masks_RA: Masks, out_RX: Tensor) -> None:
        features_RN = self._features(before_RN, masks_RA)
        found_RX = product(features_RN, self._dense_NX.t())
        if not found_RX.isfinite().all():
            found_RX = _one_by_one(features_RN, self.sizes, self._dense_AC)
        out_RX += found_RX

    def learn(
        self, before_RN: Tensor, masks_RA: Masks, grad_RX: Tensor, *, bias_N: Tensor, dense: Tensor
    ) -> Tensor:
        dense += gradient(self._features(before_RN, masks_RA), grad_RX)
        if grad_RX.isfinite().all():
            grad_RN = product(grad_RX, self._dense_NX)
        else:
            grad_RN = _one_by_one(grad_RX, self._outputs, [each_AC.t() for each_AC in self._dense_AC])
        grad_RN = torch.ops.aten.gelu_backward(self._masked(grad_RN, masks_RA), before_RN)
        bias_N += grad_RN.sum(dim=0)
        return cast("Tensor", grad_RN)

    def zero(self) -> Tensor:
        """Of all features by all outputs."""
        return torch.zeros_like(self._dense_NX)

    def of_heads(self, dense: Tensor) -> list[Tensor]:
        """What is a head's own is on the diagonal."""
        rows_AX = torch.split(dense, self.sizes)
        return [torch.split(each_AX, self._outputs, dim=1)[k] for k, each_AX in enumerate(rows_AX)]

    def _features(self, before_RN: Tensor, masks_RA: Masks) -> Tensor:
        return self._masked(functional.gelu(before_RN), masks_RA)

    def _masked(self, features_RN: Tensor, masks_RA: Masks) -> Tensor:
        if all(mask is None for mask in masks_RA):
            return features_RN
        return _joined(torch.split(features_RN, self.sizes, dim=1), masks_RA)


def _masked(features_RA: Tensor, mask_RA: Tensor | None) -> Tensor:
    return features_RA if mask_RA is None else features_RA * mask_RA


def _joined(parts_RA: Sequence[Tensor], masks_RA: Masks) -> Tensor:
    """What the masks leave of each, side by side."""
    return torch.cat([_masked(*each) for each in zip(parts_RA, masks_RA, strict=True)], dim=1)


def _one_by_one(x_RX: Tensor, columns: list[int], blocks_XY: Sequence[Tensor]) -> Tensor:
    """Zero times infinity is NaN: what is no number in one block's columns must not reach the others."""
    parts_RX = torch.split(x_RX, columns, dim=1)
    return torch.cat([part @ block_XY for part, block_XY in zip(parts_RX, blocks_XY, strict=True)], dim=1)
