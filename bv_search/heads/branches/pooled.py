"""A mix of the layers, then the dense layer.

Both are linear, so the mix goes into the dense layer: one matmul on all layers, that keeps C numbers a
token, moves far less memory than a mix that keeps H for each of K branches. Dropout stands between the
two, so branches that have it mix first.
"""

from collections.abc import Hashable, Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import Branch, glorot
from bv_search.heads.branches.mix import Mix, mix_layers, stack_mixes
from bv_search.heads.branches.product import read_out
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
        return tokens * (4 * outputs + (3 * width if self.dropout else 0))

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        if branches[0].dropout is not None:
            pooled_KTH = mix_layers([branch.mix for branch in branches], hidden_LTH)
            pairs = zip(branches, pooled_KTH, strict=True)
            return [b.drop(pooled_TH, windows) @ b.dense_HC for b, pooled_TH in pairs]
        dense_KHC = torch.stack([branch.dense_HC for branch in branches])
        mixes_KL = stack_mixes([branch.mix for branch in branches], hidden_LTH)
        mixed_LHKC = torch.einsum("kl,khc->lhkc", mixes_KL, dense_KHC)
        out_TX = read_out(hidden_LTH, mixed_LHKC.flatten(2))
        return list(torch.split(out_TX, dense_KHC.shape[2], dim=1))
