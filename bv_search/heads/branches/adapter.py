"""Adapters on every layer: H → A with gelu, then the dense layer on all L·A features.

The dense layer is one matrix per layer, (L, A, C), summed over layers: the same numbers as on the
flattened features, without moving them.
"""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.branch import Branch, glorot
from bv_search.heads.branches.windows import Windows


class _Adapter(Branch):
    """What both adapters share: the dense layer after the bottleneck."""

    def __init__(self, layers: int, size: int, outputs: int) -> None:
        super().__init__()
        self.size = size
        self.dense_LAC = nn.Parameter(torch.empty(layers, size, outputs))

    def kept(self, tokens: int) -> int:
        layers, size, _ = self.dense_LAC.shape
        return 4 * tokens * layers * size

    def _initialise_dense(self, generator: Generator) -> None:
        layers, size, outputs = self.dense_LAC.shape
        glorot(self.dense_LAC, generator, fan_in=layers * size, fan_out=outputs)

    def _read_out(self, features_LTA: Tensor, windows: Windows) -> Tensor:
        return torch.bmm(self.drop(features_LTA, windows), self.dense_LAC).sum(dim=0)


class SharedAdapter(_Adapter):
    """One bottleneck for all layers: K of them are one matmul."""

    def __init__(self, layers: int, width: int, size: int, outputs: int) -> None:
        super().__init__(layers, size, outputs)
        self.down_HA = nn.Parameter(torch.empty(width, size))
        self.bias_A = nn.Parameter(torch.zeros(size))

    def initialise(self, generator: Generator) -> None:
        glorot(self.down_HA, generator, fan_in=self.down_HA.shape[0], fan_out=self.size)
        nn.init.zeros_(self.bias_A)
        self._initialise_dense(generator)

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        down = [branch.down_HA for branch in branches]
        parts = narrow(hidden_LTH, down, [branch.bias_A for branch in branches])
        return [b._read_out(part, windows) for b, part in zip(branches, parts, strict=True)]


class LayerAdapters(_Adapter):
    """A bottleneck for each layer: K of them are one batched matmul."""

    def __init__(self, layers: int, width: int, size: int, outputs: int) -> None:
        super().__init__(layers, size, outputs)
        self.down_LHA = nn.Parameter(torch.empty(layers, width, size))
        self.bias_L1A = nn.Parameter(torch.zeros(layers, 1, size))

    def initialise(self, generator: Generator) -> None:
        glorot(self.down_LHA, generator, fan_in=self.down_LHA.shape[1], fan_out=self.size)
        nn.init.zeros_(self.bias_L1A)
        self._initialise_dense(generator)

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        down = torch.cat([branch.down_LHA for branch in branches], dim=2)
        bias = torch.cat([branch.bias_L1A for branch in branches], dim=2)
        features_LTA = functional.gelu(torch.baddbmm(bias, hidden_LTH, down))
        parts = torch.split(features_LTA, [branch.size for branch in branches], dim=2)
        return [b._read_out(part, windows) for b, part in zip(branches, parts, strict=True)]


def narrow(hidden_LTH: Tensor, down_HA: Sequence[Tensor], bias_A: Sequence[Tensor]) -> Sequence[Tensor]:
    """features_LTA of each shared adapter, by one wide matmul."""
    layers, tokens, width = hidden_LTH.shape
    hidden = hidden_LTH.reshape(layers * tokens, width)
    features = functional.gelu(torch.addmm(torch.cat(list(bias_A)), hidden, torch.cat(list(down_HA), dim=1)))
    return torch.split(features.view(layers, tokens, -1), [bias.shape[0] for bias in bias_A], dim=2)
