"""Channels straight into the dense layer: a linear head, or the skip connection of another."""

from collections.abc import Hashable, Sequence
from itertools import chain
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.columns import Columns, Numbers
from bv_search.heads.branches.kept import Reading, lay_out, read_kept
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
    def columns(cls, branches: Sequence[Self], *, dropping: bool) -> Columns:
        if dropping:
            return Columns()
        side_by_side_HX = torch.cat([branch.dense_HC for branch in branches], dim=1)
        return Columns(apart_HX={branches[0].channel: side_by_side_HX})

    @classmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        channel, outputs = branches[0].channel, branches[0].dense_HC.shape[1]
        return list(torch.split(numbers.apart_TX[channel], outputs, dim=1))

    @classmethod
    def kept_answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows, step: int
    ) -> list[Tensor]:
        x_MTX, places = lay_out(hidden_LTH)
        place = places[branches[0].channel]
        return read_kept(x_MTX, [Reading.at(place, b.dense_HC, b.dropout) for b in branches], step)


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
    def columns(cls, branches: Sequence[Self], *, dropping: bool) -> Columns:
        if dropping:
            return Columns()
        return Columns(added_LHX=torch.cat([branch.dense_LHC for branch in branches], dim=2))

    @classmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        return list(torch.split(numbers.added_TX, branches[0].dense_LHC.shape[2], dim=1))

    @classmethod
    def kept_answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows, step: int
    ) -> list[Tensor]:
        x_MTX, places = lay_out(hidden_LTH)
        of_branches = [
            [Reading.at(place, dense_HC, b.dropout, layer) for layer, (place, dense_HC) in enumerate(layers)]
            for b in branches
            for layers in [zip(places, b.dense_LHC, strict=True)]
        ]
        read = read_kept(x_MTX, list(chain.from_iterable(of_branches)), step)
        out_KTC = torch.stack(read).view(len(branches), len(places), *read[0].shape).sum(dim=1)
        return list(out_KTC.unbind())
