"""A mix of the layers, then an adapter, then the dense layer."""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.branch import Branch, glorot
from bv_search.heads.branches.mix import Mix, stack_mixes


class PooledAdapter(Branch):
    """K mixes are one (K, L) matmul; the adapters on them are as different as their inputs."""

    def __init__(self, layers: int, width: int, size: int, outputs: int, *, learned: bool) -> None:
        super().__init__()
        self.mix = Mix(layers, learned=learned)
        self.down_HA = nn.Parameter(torch.empty(width, size))
        self.bias_A = nn.Parameter(torch.zeros(size))
        self.dense_AC = nn.Parameter(torch.empty(size, outputs))

    def initialise(self, generator: Generator) -> None:
        self.mix.initialise()
        width, size = self.down_HA.shape
        glorot(self.down_HA, generator, fan_in=width, fan_out=size)
        nn.init.zeros_(self.bias_A)
        glorot(self.dense_AC, generator, fan_in=size, fan_out=self.dense_AC.shape[1])

    @property
    def activations(self) -> int:
        width, size = self.down_HA.shape
        return 2 * width + 4 * size

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor) -> list[Tensor]:
        layers, tokens, width = hidden_LTH.shape
        mixes_KL = stack_mixes([branch.mix for branch in branches], hidden_LTH)
        pooled_KTH = (mixes_KL @ hidden_LTH.reshape(layers, tokens * width)).view(-1, tokens, width)
        return [b._adapt(pooled_TH) for b, pooled_TH in zip(branches, pooled_KTH, strict=True)]

    def _adapt(self, pooled_TH: Tensor) -> Tensor:
        return functional.gelu(torch.addmm(self.bias_A, pooled_TH, self.down_HA)) @ self.dense_AC
