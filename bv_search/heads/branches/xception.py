"""Xception along the width, with the layers as channels; each token by itself.

Abbreviated: two convolutions and one block. Full: entry, eight middle blocks, exit. No convolution has a
bias, a norm follows each. Pools are averages, which leave out what lies beyond the ends.

T tokens, F features, W places along the width.
"""

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.branch import Solo, glorot
from bv_search.heads.branches.convolution import Convolution, Separable, initialise_parts
from bv_search.heads.branches.norm import BatchNorm
from bv_search.heads.branches.windows import Windows
from bv_search.heads.config import HeadShape, XceptionHead

MIDDLE_BLOCKS = 8


class Xception(Solo):
    def __init__(self, config: XceptionHead, shape: HeadShape) -> None:
        super().__init__()
        parts = _full(shape.layers) if config.form == "full" else _abbreviated(shape.layers)
        self.parts = nn.ModuleList(parts)
        features = 2048 if config.form == "full" else 512
        self.dense_FC = nn.Parameter(torch.empty(features, shape.outputs))
        self._activations = (14_000 if config.form == "full" else 3_000) * shape.width // 3

    def initialise(self, generator: Generator) -> None:
        initialise_parts(self, generator)
        features, outputs = self.dense_FC.shape
        glorot(self.dense_FC, generator, fan_in=features, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        return tokens * self._activations

    def alone(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        x_TFW = hidden_LTH.transpose(0, 1)
        for part in self.parts:
            x_TFW = part(x_TFW, windows.step)
        return self.drop(x_TFW.mean(dim=2), windows) @ self.dense_FC


def _abbreviated(layers: int) -> list[nn.Module]:
    return [_Entry(layers, 64), _Entry(64, 128, stride=1), _Block(128, 256, 512, relu=False)]


def _full(layers: int) -> list[nn.Module]:
    return [
        _Entry(layers, 32),
        _Entry(32, 64, stride=1),
        _Block(64, 128, 128, relu=False),
        _Block(128, 256, 256),
        _Block(256, 728, 728),
        *(_Middle(728) for _ in range(MIDDLE_BLOCKS)),
        _Block(728, 728, 1024),
        _Exit(1024, 1536),
        _Exit(1536, 2048),
    ]


class _Normed(nn.Module):
    def __init__(self, convolution: nn.Module, outputs: int) -> None:
        super().__init__()
        self.convolution = convolution
        self.norm = BatchNorm(outputs)

    def forward(self, x_TFW: Tensor, step: int | None) -> Tensor:
        y_TFW: Tensor = self.norm(self.convolution(x_TFW), step)
        return y_TFW


class _Entry(_Normed):
    def __init__(self, inputs: int, outputs: int, stride: int = 3) -> None:
        convolution = Convolution(inputs, outputs, 3, stride=stride, padded=False, bias=False)
        super().__init__(convolution, outputs)

    def forward(self, x_TFW: Tensor, step: int | None) -> Tensor:
        return super().forward(x_TFW, step).relu()


class _Exit(_Normed):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(Separable(inputs, outputs), outputs)

    def forward(self, x_TFW: Tensor, step: int | None) -> Tensor:
        return super().forward(x_TFW, step).relu()


class _Block(nn.Module):
    """Two separable convolutions and a pool that halves the width, beside a strided residual."""

    def __init__(self, inputs: int, inner: int, outputs: int, *, relu: bool = True) -> None:
        super().__init__()
        self._relu = relu  # false where the input already is what a relu left
        self.residual = _Normed(Convolution(inputs, outputs, 1, stride=2, bias=False), outputs)
        self.first = _Normed(Separable(inputs, inner), inner)
        self.second = _Normed(Separable(inner, outputs), outputs)

    def forward(self, x_TFW: Tensor, step: int | None) -> Tensor:
        y_TFW = self.first(x_TFW.relu() if self._relu else x_TFW, step)
        y_TFW = self.second(y_TFW.relu(), step)
        pooled_TFW = functional.avg_pool1d(y_TFW, 3, stride=2, padding=1, count_include_pad=False)
        residual_TFW: Tensor = self.residual(x_TFW, step)
        return pooled_TFW + residual_TFW


class _Middle(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(_Normed(Separable(features, features), features) for _ in range(3))

    def forward(self, x_TFW: Tensor, step: int | None) -> Tensor:
        y_TFW = x_TFW
        for part in self.steps:
            y_TFW = part(y_TFW.relu(), step)
        return x_TFW + y_TFW
