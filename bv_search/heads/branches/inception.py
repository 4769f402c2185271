"""Inception blocks along the tokens, on an adapter's features.

The source work's blocks shortened the token axis, which ruined its span answers (EM .501 beside .66 and
more). Here they keep it; the shrinking form is kept as the negative result that it is.
"""

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.adapted_mix import OnAdapter
from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.convolution import Convolution, initialise_parts
from bv_search.heads.branches.strip import Strip
from bv_search.heads.branches.windows import Windows
from bv_search.heads.config import HeadShape, InceptionHead

BLOCKS = 3
REACH = 2  # tokens, of the widest convolution


class Inception(OnAdapter):
    def __init__(self, config: InceptionHead, shape: HeadShape) -> None:
        super().__init__(shape.layers, shape.width, config.size, learned=config.pooling == "learned")
        self._stride = 1 if config.keep_length else 2
        wide = 4 * config.channels
        inputs = [config.size] + [wide] * (BLOCKS - 1)
        self.blocks = nn.ModuleList(_Block(n, config.channels, self._stride) for n in inputs)
        self.dense_FC = nn.Parameter(torch.empty(wide, shape.outputs))

    def initialise(self, generator: Generator) -> None:
        super().initialise(generator)
        initialise_parts(self.blocks, generator)
        features, outputs = self.dense_FC.shape
        glorot(self.dense_FC, generator, fan_in=features, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        return super().kept(tokens) + tokens * 5 * BLOCKS * self.dense_FC.shape[0]

    def read(self, features_TA: Tensor, windows: Windows) -> Tensor:
        strip = windows.strip(reach=REACH, stride=self._stride**BLOCKS)
        x_1FP, shortened = strip.lay(features_TA), 1
        for block in self.blocks:
            x_1FP = block(x_1FP, strip, shortened)
            shortened *= self._stride
        features_TF = strip.take(x_1FP, stride=shortened)
        return self.drop(features_TF, windows) @ self.dense_FC


class _Block(nn.Module):
    """One token; one, then three; one, then five; the largest of three, then one."""

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        self._stride = stride
        self.one = Convolution(inputs, channels, 1, stride=stride)
        self.to_three = Convolution(inputs, channels, 1)
        self.three = Convolution(channels, channels, 3, stride=stride)
        self.to_five = Convolution(inputs, channels, 1)
        self.five = Convolution(channels, channels, 5, stride=stride)
        self.pooled = Convolution(inputs, channels, 1)

    def forward(self, x_1FP: Tensor, strip: Strip, shortened: int) -> Tensor:
        cleared_1FP = strip.clear(x_1FP, stride=shortened, value=float("-inf"))
        largest = functional.max_pool2d(  # as max_pool1d, which no tracer follows at every length
            cleared_1FP[:, :, None], (1, 3), stride=(1, self._stride), padding=(0, 1)
        )[:, :, 0]
        found = [
            self.one(x_1FP),
            self.three(strip.clear(self.to_three(x_1FP).relu(), stride=shortened)),
            self.five(strip.clear(self.to_five(x_1FP).relu(), stride=shortened)),
            self.pooled(strip.clear(largest, stride=shortened * self._stride)),
        ]
        return strip.clear(torch.cat(found, dim=1).relu(), stride=shortened * self._stride)
