"""Channels straight into the dense layer: a linear head, or the skip connection of another."""

from collections.abc import Hashable, Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.columns import Columns, Numbers
from bv_search.heads.branches.reader import Reader
from bv_search.heads.branches.windows import Windows


class Channel(Reader):
    """One of them."""

    def __init__(self, channel: int, width: int, outputs: int) -> None:
        super().__init__()
        self.channel = channel
        self.dense_HC = nn.Parameter(torch.empty(width, outputs))

    @property
    def stack_key(self) -> Hashable:
        return super().stack_key, self.channel

    def initialise(self, generator: Generator) -> None:
        width, outputs = self.dense_HC.shape
        glorot(self.dense_HC, generator, fan_in=width, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        width, outputs = self.dense_HC.shape
        return tokens * (2 * outputs + (width if self.dropout else 0))

    @classmethod
    def columns(cls, branches: Sequence[Self]) -> Columns:
        if branches[0].dropout is not None:
            return Columns()
        side_by_side_HX = torch.cat([branch.dense_HC for branch in branches], dim=1)
        return Columns(apart_HX={branches[0].channel: side_by_side_HX})

    @classmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        channel, outputs = branches[0].channel, branches[0].dense_HC.shape[1]
        if branches[0].dropout is None:
            return list(torch.split(numbers.apart_TX[channel], outputs, dim=1))
        return [b.drop(hidden_LTH[channel], windows) @ b.dense_HC for b in branches]
