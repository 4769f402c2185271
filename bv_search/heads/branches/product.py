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


def product(x_RX: Tensor, weight_YX: Tensor, bias_Y: Tensor | None = None) -> Tensor:
    """x Wᵀ + b, without a gradient. W is dense, or turned: a slice is a hundred times slower."""
    if _by_onednn(x_RX):
        assert _is_dense(weight_YX), "weights stand in one piece"
        out_RY: Tensor = torch.ops.mkldnn._linear_pointwise(x_RX, weight_YX, bias_Y, "none", [], "")
        return out_RY
    return functional.linear(x_RX, weight_YX, bias_Y)


def no_gradient(of_XY: tuple[int, int], like: Tensor) -> Tensor:
    """Zeros for `add_gradient`, laid out as it fills them fastest."""
    inputs, outputs = of_XY
    return like.new_zeros(inputs, outputs) if _by_onednn(like) else like.new_zeros(outputs, inputs).t()


def add_gradient(sum_XY: Tensor, x_RX: Tensor, grad_RY: Tensor) -> None:
    """xᵀ · grad, added to what there is."""
    if not _by_onednn(x_RX):
        sum_XY.addmm_(x_RX.t(), grad_RY)
        return
    x_RX, grad_RY = _dense(x_RX), _dense(grad_RY)
    # the narrower is copied, unless it is turned
    if x_RX.shape[1] <= grad_RY.shape[1] or x_RX.t().is_contiguous():
        sum_XY += product(x_RX.t(), grad_RY.t())
    else:
        sum_XY += product(grad_RY.t(), x_RX.t()).t()


def _dense(x: Tensor) -> Tensor:
    return x if _is_dense(x) else x.contiguous()


def _is_dense(x: Tensor) -> bool:
    return x.is_contiguous() or x.t().is_contiguous()


def turned(x_RX: Tensor) -> Tensor:
    """The same values, for oneDNN column after column in memory: `add_gradient` then copies nothing."""
    return x_RX.t().contiguous().t() if _by_onednn(x_RX) else x_RX


def _by_onednn(x_RX: Tensor) -> bool:
    return ONEDNN and x_RX.device.type == "cpu" and x_RX.dtype == torch.float32
