"""A mix of the layers, then an adapter, then the dense layer."""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.adapted_mix import AdaptedMix
from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.mix import mix_layers
from bv_search.heads.branches.windows import Windows


class PooledAdapter(AdaptedMix):
    """K mixes are one (K, L) matmul; the adapters on them are as different as their inputs."""

    def __init__(self, layers: int, width: int, size: int, outputs: int, *, learned: bool) -> None:
        super().__init__(layers, width, size, learned=learned)
        self.dense_AC = nn.Parameter(torch.empty(size, outputs))

    def initialise(self, generator: Generator) -> None:
        super().initialise(generator)
        size, outputs = self.dense_AC.shape
        glorot(self.dense_AC, generator, fan_in=size, fan_out=outputs)

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        pooled_KTH = mix_layers([branch.mix for branch in branches], hidden_LTH)
        return [b._read(pooled_TH, windows) for b, pooled_TH in zip(branches, pooled_KTH, strict=True)]

    def _read(self, pooled_TH: Tensor, windows: Windows) -> Tensor:
        return self.drop(self.adapt(pooled_TH), windows) @ self.dense_AC
