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
        return tokens * 2 * self.dense_HC.shape[1]

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
        return [b.read_kept(hidden_LTH[channel], b.dense_HC, windows) for b in branches]


class AllChannels(Reader):
    """All of them side by side."""

    def __init__(self, layers: int, width: int, outputs: int) -> None:
        super().__init__()
        self.dense_LHC = nn.Parameter(torch.empty(layers, width, outputs))

    def initialise(self, generator: Generator) -> None:
        layers, width, outputs = self.dense_LHC.shape
        glorot(self.dense_LHC, generator, fan_in=layers * width, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        layers, _, outputs = self.dense_LHC.shape
        return tokens * outputs * (2 + layers if self.dropout else 2)

    @classmethod
    def columns(cls, branches: Sequence[Self]) -> Columns:
        if branches[0].dropout is not None:
            return Columns()
        return Columns(added_LHX=torch.cat([branch.dense_LHC for branch in branches], dim=2))

    @classmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        if branches[0].dropout is None:
            return list(torch.split(numbers.added_TX, branches[0].dense_LHC.shape[2], dim=1))
        return [branch._read_layers(hidden_LTH, windows) for branch in branches]

    def _read_layers(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        layers = zip(hidden_LTH, self.dense_LHC, strict=True)
        read = [self.read_kept(x_TH, dense_HC, windows, part) for part, (x_TH, dense_HC) in enumerate(layers)]
        return torch.stack(read).sum(dim=0)
