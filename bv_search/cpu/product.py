"""Products of float32 by the library that a CPU is fastest with.

oneDNN uses the widest vectors of every make (measured on one core of an AMD EPYC: 260 GFLOP/s against
MKL's 118). On Intel's own MKL is as fast forward and twice as fast for gradients (one core of a Xeon, wide
adapters: 117 against 57), and torch takes it by itself.
"""

import platform
from pathlib import Path

import torch
from torch import Tensor


def is_intel(cpuinfo: Path = Path("/proc/cpuinfo")) -> bool:
    return "GenuineIntel" in (cpuinfo.read_text() if cpuinfo.exists() else platform.processor())


ONEDNN = (
    torch.backends.mkldnn.is_available()  # type: ignore[no-untyped-call]
    and hasattr(torch.ops.mkldnn, "_linear_pointwise")
    and not (torch.backends.mkl.is_available() and is_intel())  # type: ignore[no-untyped-call]
)


def by_onednn(x_RX: Tensor) -> bool:
    """Whether products with it are oneDNN's to do."""
    return ONEDNN and x_RX.device.type == "cpu" and x_RX.dtype == torch.float32


def product(x_RX: Tensor, weight_YX: Tensor, bias_Y: Tensor | None) -> Tensor:
    """x Wᵀ + b. W is dense, or turned: a slice is a hundred times slower."""
    assert _is_dense(weight_YX), "weights stand in one piece"
    out_RY: Tensor = torch.ops.mkldnn._linear_pointwise(x_RX, weight_YX, bias_Y, "none", [], "")
    return out_RY


def gradient(x_RX: Tensor, grad_RY: Tensor) -> Tensor:
    """xᵀ · grad."""
    x_RX, grad_RY = _dense(x_RX), _dense(grad_RY)
    # the narrower is copied, unless it is turned
    if x_RX.shape[1] <= grad_RY.shape[1] or x_RX.t().is_contiguous():
        return product(x_RX.t(), grad_RY.t(), None)
    return product(grad_RY.t(), x_RX.t(), None).t()


def turned(x_RX: Tensor) -> Tensor:
    """The same values, for oneDNN column after column in memory: `gradient` then copies nothing."""
    return x_RX.t().contiguous().t() if by_onednn(x_RX) else x_RX


def _dense(x: Tensor) -> Tensor:
    return x if _is_dense(x) else x.contiguous()


def _is_dense(x: Tensor) -> bool:
    return x.is_contiguous() or x.t().is_contiguous()
