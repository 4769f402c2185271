"""A mix of the layers, then an adapter: the stem of many heads."""

from abc import abstractmethod

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.branch import Branch, Solo, glorot
from bv_search.heads.branches.mix import Mix, mix_layers
from bv_search.heads.branches.windows import Windows


class AdaptedMix(Branch):
    def __init__(self, layers: int, width: int, size: int, *, learned: bool) -> None:
        super().__init__()
        self.mix = Mix(layers, learned=learned)
        self.down_HA = nn.Parameter(torch.empty(width, size))
        self.bias_A = nn.Parameter(torch.zeros(size))

    def initialise(self, generator: Generator) -> None:
        self.mix.initialise()
        width, size = self.down_HA.shape
        glorot(self.down_HA, generator, fan_in=width, fan_out=size)
        nn.init.zeros_(self.bias_A)

    def kept(self, tokens: int) -> int:
        width, size = self.down_HA.shape
        return tokens * (2 * width + 4 * size)

    def adapt(self, pooled_TH: Tensor) -> Tensor:
        """features_TA."""
        return functional.gelu(torch.addmm(self.bias_A, pooled_TH, self.down_HA))


class OnAdapter(AdaptedMix, Solo):
    """A deep branch on the stem."""

    def alone(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        (pooled_TH,) = mix_layers([self.mix], hidden_LTH)
        return self.read(self.adapt(pooled_TH), windows)

    @abstractmethod
    def read(self, features_TA: Tensor, windows: Windows) -> Tensor:
        """out_TC."""
