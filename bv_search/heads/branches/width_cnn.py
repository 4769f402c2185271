"""Convolutions along the width with the layers as channels; each token by itself."""

from math import ceil

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.branch import Solo, glorot
from bv_search.heads.branches.chunks import in_chunks, kept
from bv_search.heads.branches.convolution import Convolution, initialise_parts
from bv_search.heads.branches.mix import Mix, mix_layers
from bv_search.heads.branches.windows import Windows
from bv_search.heads.config import CnnHead, HeadShape

FIRST_STRIDE, STRIDE = 4, 2


class WidthCnn(Solo):
    def __init__(self, config: CnnHead, shape: HeadShape) -> None:
        super().__init__()
        mixed = config.pooling != "none"
        self.mix = Mix(shape.layers, learned=config.pooling == "learned") if mixed else None
        self.convolutions = nn.ModuleList()
        inputs, places, self._activations = 1 if mixed else shape.layers, shape.width, shape.width
        for number in range(config.depth):
            stride = STRIDE if number else FIRST_STRIDE
            self.convolutions.append(
                Convolution(inputs, config.channels, config.kernel, stride=stride, dilation=config.dilation)
            )
            inputs, places = config.channels, ceil(places / stride)
            self._activations += 2 * inputs * places
        self.dense_FC = nn.Parameter(torch.empty(inputs * places, shape.outputs))

    def initialise(self, generator: Generator) -> None:
        if self.mix is not None:
            self.mix.initialise()
        initialise_parts(self, generator)
        features, outputs = self.dense_FC.shape
        glorot(self.dense_FC, generator, fan_in=features, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        return kept(tokens, self._activations)

    def alone(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        def read(x_TLH: Tensor, part: int) -> Tensor:
            for convolution in self.convolutions:
                x_TLH = functional.gelu(convolution(x_TLH))
            return self.drop(x_TLH.flatten(1), windows, part) @ self.dense_FC

        x_LTH = hidden_LTH if self.mix is None else mix_layers([self.mix], hidden_LTH)
        return in_chunks(read, x_LTH.transpose(0, 1), self._activations)
