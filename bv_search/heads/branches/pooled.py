"""A mix of the layers, then the dense layer.

Projected first, mixed after: both are linear, and a wide matmul that keeps C numbers a token moves far
less memory than a mix that keeps H for each of K branches. Dropout stands between the two, so branches
that have it mix first.
"""

from collections.abc import Hashable, Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import Branch, glorot
from bv_search.heads.branches.mix import Mix, mix_layers, stack_mixes
from bv_search.heads.branches.windows import Windows


class Pooled(Branch):
    def __init__(self, layers: int, width: int, outputs: int, *, learned: bool) -> None:
        super().__init__()
        self.mix = Mix(layers, learned=learned)
        self.dense_HC = nn.Parameter(torch.empty(width, outputs))

    @property
    def fuse_key(self) -> Hashable:
        return type(self), self.dense_HC.shape, self.dropout is None

    def initialise(self, generator: Generator) -> None:
        self.mix.initialise()
        width, outputs = self.dense_HC.shape
        glorot(self.dense_HC, generator, fan_in=width, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        width, outputs = self.dense_HC.shape
        return tokens * (2 * (self.mix.layers + 1) * outputs + (3 * width if self.dropout else 0))

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        if branches[0].dropout is not None:
            pooled_KTH = mix_layers([branch.mix for branch in branches], hidden_LTH)
            pairs = zip(branches, pooled_KTH, strict=True)
            return [b.drop(pooled_TH, windows) @ b.dense_HC for b, pooled_TH in pairs]
        layers, tokens, width = hidden_LTH.shape
        mixes_KL = stack_mixes([branch.mix for branch in branches], hidden_LTH)
        dense_HKC = torch.stack([branch.dense_HC for branch in branches], dim=1)
        projected = hidden_LTH.reshape(layers * tokens, width) @ dense_HKC.flatten(1)
        projected_LTKC = projected.view(layers, tokens, len(branches), -1)
        out_TKC = (projected_LTKC * mixes_KL.T[:, None, :, None]).sum(dim=0)
        return list(out_TKC.unbind(dim=1))
