"""Matrix products, where most of a search's time goes.

On a CPU they are oneDNN's: it uses the widest vectors of every make, MKL only those of Intel's (measured
on one core of an AMD EPYC: 260 against 118 GFLOP/s).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional

ONEDNN = torch.backends.mkldnn.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")  # type: ignore[no-untyped-call]


def product(x_RX: Tensor, weight_YX: Tensor, bias_Y: Tensor | None = None) -> Tensor:
    """x Wᵀ + b, without a gradient. W is dense, or turned: a slice is a hundred times slower."""
    if ONEDNN and x_RX.device.type == "cpu" and x_RX.dtype == torch.float32:
        out_RY: Tensor = torch.ops.mkldnn._linear_pointwise(x_RX, weight_YX, bias_Y, "none", [], "")
        return out_RY
    return functional.linear(x_RX, weight_YX, bias_Y)


def blockwise(x_RX: Tensor, blocks_XY: Sequence[Tensor]) -> Tensor:
    """Each block by its own columns of x, side by side: one product, with zeros outside of the blocks."""
    if len(blocks_XY) == 1:
        return product(x_RX, blocks_XY[0].t())
    out_RY = product(x_RX, torch.block_diag(*blocks_XY).t())  # type: ignore[no-untyped-call]
    if min(x_RX, out_RY, key=torch.numel).isfinite().all():
        return out_RY
    # zero times infinity is NaN: what is no number in the columns of one block must not reach the others
    parts_RX = torch.split(x_RX, [len(block) for block in blocks_XY], dim=1)
    return torch.cat([part @ block for part, block in zip(parts_RX, blocks_XY, strict=True)], dim=1)


def turned(x_RX: Tensor) -> Tensor:
    """The same values, column after column in memory: `gradient` then copies nothing."""
    return x_RX.t().contiguous().t()


def gradient(x_RX: Tensor, grad_RY: Tensor) -> Tensor:
    """xᵀ · grad, (X, Y). The narrower one is turned, which is a copy, unless x is already."""
    if x_RX.shape[1] <= grad_RY.shape[1] or x_RX.t().is_contiguous():
        return product(x_RX.t(), grad_RY.t())
    return product(grad_RY.t(), x_RX.t()).t()


def read_out(hidden_LTH: Tensor, dense_LHC: Tensor) -> Tensor:
    """A dense layer on all layers of every token, with a gradient for it alone: hidden states are given."""
    out_TC: Tensor = _ReadOut.apply(hidden_LTH, dense_LHC)  # type: ignore[no-untyped-call]
    return out_TC


class _ReadOut(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, hidden_LTH: Tensor, dense_LHC: Tensor) -> Tensor:
        ctx.save_for_backward(hidden_LTH)
        out_TC = product(hidden_LTH[0], dense_LHC[0].t())
        for hidden_TH, dense_HC in zip(hidden_LTH[1:], dense_LHC[1:], strict=True):
            out_TC += product(hidden_TH, dense_HC.t())
        return out_TC

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TC: Tensor) -> Any:
        (hidden_LTH,) = ctx.saved_tensors
        return None, torch.stack([gradient(hidden_TH, grad_TC) for hidden_TH in hidden_LTH])
