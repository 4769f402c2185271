"""Matrix products, where most of a search's time goes.

On a CPU they are oneDNN's, which uses the widest vectors of every make (measured on one core of an AMD EPYC:
260 GFLOP/s against MKL's 118), and on Intel's own MKL's, which are as fast forward and twice as fast for
gradients (one core of a Xeon, wide adapters: 117 against 57).
"""

import platform
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional


def is_intel(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    return "GenuineIntel" in (cpuinfo.read_text() if cpuinfo.exists() else platform.processor())


ONEDNN = (
    torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    and not (torch.backends.mkl.is_available() and is_intel())  # type: ignore[no-untyped-call]
)


NARROW = (torch.bfloat16, torch.float16)


def wide_dtype(x: Tensor) -> torch.dtype:
    """Of what comes of a product with x."""
    return torch.float32 if x.dtype in NARROW else x.dtype


def product(x_RX: Tensor, weight_YX: Tensor, bias_Y: Tensor | None = None) -> Tensor:
    """x Wᵀ + b, without a gradient. W is dense, or turned: a slice is a hundred times slower.

    Of x of 16 bits the product is one of 16 bits, summed up in 32; what comes out has 32 all the same.
    """
    if x_RX.dtype in NARROW:
        found_RY = functional.linear(x_RX, weight_YX.to(x_RX.dtype)).float()
        return found_RY if bias_Y is None else found_RY.add_(bias_Y)
    if _by_onednn(x_RX):
        assert _is_dense(weight_YX), "weights stand in one piece"
        out_RY: Tensor = torch.ops.mkldnn._linear_pointwise(x_RX, weight_YX, bias_Y, "none", [], "")
        return out_RY
    return functional.linear(x_RX, weight_YX, bias_Y)


def gradient(x_RX: Tensor, grad_RY: Tensor) -> Tensor:
    """xᵀ · grad, that of the weights of a product, without a gradient of its own."""
    if x_RX.dtype in NARROW:
        return (grad_RY.to(x_RX.dtype).t() @ x_RX).t().float()
    if not _by_onednn(x_RX):
        return (grad_RY.t() @ x_RX).t()  # so laid out, sums of several are fastest
    x_RX, grad_RY = _dense(x_RX), _dense(grad_RY)
    # the narrower is copied, unless it is turned
    if x_RX.shape[1] <= grad_RY.shape[1] or x_RX.t().is_contiguous():
        return product(x_RX.t(), grad_RY.t())
    return product(grad_RY.t(), x_RX.t()).t()


class GradientSum:
    """Of several pieces of a batch: what each says of the weights, added up."""

    def __init__(self) -> None:
        self._sum_XY: Tensor | None = None

    def add(self, x_RX: Tensor, grad_RY: Tensor) -> None:
        if self._sum_XY is None:
            self._sum_XY = gradient(x_RX, grad_RY)
        elif _by_onednn(x_RX) or x_RX.dtype in NARROW:
            self._sum_XY += gradient(x_RX, grad_RY)
        else:
            self._sum_XY.addmm_(x_RX.t(), grad_RY)

    def sum(self) -> Tensor:
        assert self._sum_XY is not None, "a batch has a piece"
        return self._sum_XY


def _dense(x: Tensor) -> Tensor:
    return x if _is_dense(x) else x.contiguous()


def _is_dense(x: Tensor) -> bool:
    return x.is_contiguous() or x.t().is_contiguous()


def turned(x_RX: Tensor) -> Tensor:
    """The same values, for oneDNN column after column in memory: `gradient` then copies nothing."""
    return x_RX.t().contiguous().t() if _by_onednn(x_RX) else x_RX


def _by_onednn(x_RX: Tensor) -> bool:
    return ONEDNN and x_RX.device.type == "cpu" and x_RX.dtype == torch.float32
