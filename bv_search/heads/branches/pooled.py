"""A mix of the layers, then the dense layer.

Both are linear, so the mix goes into the dense layer: one matmul on all layers, that keeps C numbers a
token, moves far less memory than a mix that keeps H for each of K branches. Dropout stands between the
two, so branches that have it mix first.
"""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.columns import Columns, Numbers
from bv_search.heads.branches.kept import Reading, read_kept
from bv_search.heads.branches.mix import Mix, Mixes, mix_dense, mix_layers
from bv_search.heads.branches.reader import Reader
from bv_search.heads.branches.windows import Windows


class Pooled(Reader):
    def __init__(self, layers: int, width: int, outputs: int, *, learned: bool) -> None:
        super().__init__()
        self.mix = Mix(layers, learned=learned)
        self.dense_HC = nn.Parameter(torch.empty(width, outputs))

    def initialise(self, generator: Generator) -> None:
        self.mix.initialise()
        width, outputs = self.dense_HC.shape
        glorot(self.dense_HC, generator, fan_in=width, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        width, outputs = self.dense_HC.shape
        return tokens * (4 * outputs + (2 * width if self.dropout else 0))

    @classmethod
    def columns(cls, branches: Sequence[Self], *, dropping: bool) -> Columns:
        if dropping:
            return Columns()
        dense_KHC = torch.stack([branch.dense_HC for branch in branches])
        return Columns(added_LHX=mix_dense([branch.mix for branch in branches], dense_KHC))

    @classmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        return list(torch.split(numbers.added_TX, branches[0].dense_HC.shape[1], dim=1))

    @classmethod
    def kept_answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows, step: int
    ) -> list[Tensor]:
        mixes = Mixes.of([branch.mix for branch in branches])
        pooled_MTH = mix_layers(mixes.distinct, hidden_LTH)
        pairs = zip(branches, mixes.of_head, strict=True)
        return read_kept(pooled_MTH, [Reading.at((mix, 0), b.dense_HC, b.dropout) for b, mix in pairs], step)
