"""Separable convolutions with residuals along the tokens, on an adapter's features.

Entry, middle blocks of three, exit, as in Xception; the token axis keeps its length. Every norm is followed
by a relu on each way to the dense layer: a constant that reached a span's answer would have no gradient.
"""

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.adapted_mix import OnAdapter
from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.convolution import Separable, initialise_parts
from bv_search.heads.branches.norm import BatchNorm
from bv_search.heads.branches.windows import Windows
from bv_search.heads.config import HeadShape, XceptionModHead


class XceptionMod(OnAdapter):
    def __init__(self, config: XceptionModHead, shape: HeadShape) -> None:
        super().__init__(shape.layers, shape.width, config.size, learned=config.pooling == "learned")
        wide = config.channels
        self.skip_FA = nn.Parameter(torch.empty(wide, config.size))
        self.skip_norm = BatchNorm(wide)
        self.entry = nn.ModuleList([_Step(config.size, wide), _Step(wide, wide)])
        self.middle = nn.ModuleList(_Middle(wide) for _ in range(config.blocks))
        self.exit = _Step(wide, 2 * wide)
        self.dense_FC = nn.Parameter(torch.empty(2 * wide, shape.outputs))

    def initialise(self, generator: Generator) -> None:
        super().initialise(generator)
        wide, size = self.skip_FA.shape
        glorot(self.skip_FA, generator, fan_in=size, fan_out=wide)
        initialise_parts(self, generator)
        features, outputs = self.dense_FC.shape
        glorot(self.dense_FC, generator, fan_in=features, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        steps = 5 + 3 * len(self.middle)
        return super().kept(tokens) + tokens * 5 * steps * self.skip_FA.shape[0]

    def read(self, features_TA: Tensor, windows: Windows) -> Tensor:
        first, second = self.entry
        x_TF = second(first(features_TA, windows).relu(), windows)
        x_TF = x_TF + self.skip_norm(features_TA @ self.skip_FA.T, windows.step)
        for block in self.middle:
            x_TF = block(x_TF, windows)
        features_TF = self.exit(x_TF.relu(), windows).relu()
        return self.drop(features_TF, windows) @ self.dense_FC


class _Step(nn.Module):
    """A separable convolution, normed over the tokens alone."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.convolution = Separable(inputs, outputs)
        self.norm = BatchNorm(outputs)

    def forward(self, x_TF: Tensor, windows: Windows) -> Tensor:
        strip = windows.strip(reach=1)
        y_TF: Tensor = self.norm(strip.take(self.convolution(strip.lay(x_TF))), windows.step)
        return y_TF


class _Middle(nn.Module):
    def __init__(self, features: int) -> None:
        super().__init__()
        self.steps = nn.ModuleList(_Step(features, features) for _ in range(3))

    def forward(self, x_TF: Tensor, windows: Windows) -> Tensor:
        y_TF = x_TF
        for step in self.steps:
            y_TF = step(y_TF.relu(), windows)
        return x_TF + y_TF
