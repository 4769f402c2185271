"""Matrix products, where most of a search's time goes."""

import torch
from torch import Tensor
from torch.nn import functional

from bv_search.cpu import product as cpu

NARROW = (torch.bfloat16, torch.float16)


def wide_dtype(x: Tensor) -> torch.dtype:
    """Of what comes of a product with x."""
    return torch.float32 if x.dtype in NARROW else x.dtype


def product(x_RX: Tensor, weight_YX: Tensor, bias_Y: Tensor | None = None) -> Tensor:
    """x Wᵀ + b, without a gradient. W is dense, or turned.

    Of x of 16 bits the product is one of 16 bits, summed up in 32; what comes out has 32 all the same.
    """
    if x_RX.dtype in NARROW:
        found_RY = functional.linear(x_RX, weight_YX.to(x_RX.dtype)).float()
        return found_RY if bias_Y is None else found_RY.add_(bias_Y)
    if cpu.by_onednn(x_RX):
        return cpu.product(x_RX, weight_YX, bias_Y)
    return functional.linear(x_RX, weight_YX, bias_Y)


def gradient(x_RX: Tensor, grad_RY: Tensor) -> Tensor:
    """xᵀ · grad, that of the weights of a product, without a gradient of its own."""
    if x_RX.dtype in NARROW:
        return (grad_RY.to(x_RX.dtype).t() @ x_RX).t().float()
    if cpu.by_onednn(x_RX):
        return cpu.gradient(x_RX, grad_RY)
    return (grad_RY.t() @ x_RX).t()  # so laid out, sums of several are fastest


class GradientSum:
    """Of several pieces of a batch: what each says of the weights, added up."""

    def __init__(self) -> None:
        self._sum_XY: Tensor | None = None

    def add(self, x_RX: Tensor, grad_RY: Tensor) -> None:
        if self._sum_XY is None:
            self._sum_XY = gradient(x_RX, grad_RY)
        elif cpu.by_onednn(x_RX) or x_RX.dtype in NARROW:
            self._sum_XY += gradient(x_RX, grad_RY)
        else:
            self._sum_XY.addmm_(x_RX.t(), grad_RY)

    def sum(self) -> Tensor:
        assert self._sum_XY is not None, "a batch has a piece"
        return self._sum_XY
