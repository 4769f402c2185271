"""The last channel, straight into the dense layer: the skip connection."""

from collections.abc import Hashable, Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import Branch, glorot
from bv_search.heads.branches.product import read_out
from bv_search.heads.branches.windows import Windows


class Last(Branch):
    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.dense_HC = nn.Parameter(torch.empty(width, outputs))

    @property
    def fuse_key(self) -> Hashable:
        return type(self), self.dropout is None

    def initialise(self, generator: Generator) -> None:
        width, outputs = self.dense_HC.shape
        glorot(self.dense_HC, generator, fan_in=width, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        return tokens * (2 * self.dense_HC.shape[1] + (self.dense_HC.shape[0] if self.dropout else 0))

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        if branches[0].dropout is not None:
            return [b.drop(hidden_LTH[-1], windows) @ b.dense_HC for b in branches]
        wide = torch.cat([branch.dense_HC for branch in branches], dim=1)
        outputs = [branch.dense_HC.shape[1] for branch in branches]
        return list(torch.split(read_out(hidden_LTH[-1:], wide[None]), outputs, dim=1))
