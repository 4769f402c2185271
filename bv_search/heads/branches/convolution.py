"""Convolutions along one axis: of tokens, or of a width.

P places along the axis, O features out, I features in.
"""

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.norm import BatchNorm


class Convolution(nn.Module):
    """Zeros stand on both sides, so that P places stay P, or become ceil(P / stride); or none do."""

    def __init__(
        self,
        inputs: int,
        outputs: int,
        kernel: int,
        *,
        stride: int = 1,
        dilation: int = 1,
        padded: bool = True,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.weight_OIk = nn.Parameter(torch.empty(outputs, inputs, kernel))
        self.bias_O = nn.Parameter(torch.zeros(outputs)) if bias else None
        self._stride, self._dilation, self._padded = stride, dilation, padded

    def initialise(self, generator: Generator) -> None:
        outputs, inputs, kernel = self.weight_OIk.shape
        glorot(self.weight_OIk, generator, fan_in=inputs * kernel, fan_out=outputs * kernel)
        if self.bias_O is not None:
            nn.init.zeros_(self.bias_O)

    def forward(self, x_NIP: Tensor) -> Tensor:
        reach = self._dilation * (self.weight_OIk.shape[2] - 1) if self._padded else 0
        if reach % 2:  # an even kernel looks one place further to the right
            x_NIP = functional.pad(x_NIP, (0, 1))
        return functional.conv1d(
            x_NIP,
            self.weight_OIk,
            self.bias_O,
            stride=self._stride,
            padding=reach // 2,
            dilation=self._dilation,
        )


class Separable(nn.Module):
    """Three neighbours of each feature by itself, then all features of each place: no biases."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.depthwise_I1k = nn.Parameter(torch.empty(inputs, 1, 3))
        self.pointwise_OI1 = nn.Parameter(torch.empty(outputs, inputs, 1))

    def initialise(self, generator: Generator) -> None:
        glorot(self.depthwise_I1k, generator, fan_in=3, fan_out=3)
        outputs, inputs, _ = self.pointwise_OI1.shape
        glorot(self.pointwise_OI1, generator, fan_in=inputs, fan_out=outputs)

    def forward(self, x_NIP: Tensor) -> Tensor:
        alone_NIP = functional.conv1d(x_NIP, self.depthwise_I1k, padding=1, groups=x_NIP.shape[1])
        return functional.conv1d(alone_NIP, self.pointwise_OI1)


def initialise_parts(module: nn.Module, generator: Generator) -> None:
    """First weights of all convolutions and norms inside, in their order."""
    for part in module.modules():
        if isinstance(part, Convolution | Separable):
            part.initialise(generator)
        elif isinstance(part, BatchNorm):
            part.initialise()
