"""The last channel, straight into the dense layer: the skip connection."""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import Branch, glorot


class Last(Branch):
    def __init__(self, width: int, outputs: int) -> None:
        super().__init__()
        self.dense_HC = nn.Parameter(torch.empty(width, outputs))

    def initialise(self, generator: Generator) -> None:
        width, outputs = self.dense_HC.shape
        glorot(self.dense_HC, generator, fan_in=width, fan_out=outputs)

    @property
    def activations(self) -> int:
        return 2 * self.dense_HC.shape[1]

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor) -> list[Tensor]:
        wide = torch.cat([branch.dense_HC for branch in branches], dim=1)
        outputs = [branch.dense_HC.shape[1] for branch in branches]
        return list(torch.split(hidden_LTH[-1] @ wide, outputs, dim=1))
