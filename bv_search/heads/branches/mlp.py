"""All channels of a token side by side into one hidden layer with gelu, then the dense layer.

The hidden layers of all heads are one product; behind it each has its own.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Self

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.columns import Columns, Numbers
from bv_search.heads.branches.kept import Reading, read_kept
from bv_search.heads.branches.reader import Reader
from bv_search.heads.branches.windows import Windows


class Mlp(Reader):
    def __init__(self, layers: int, width: int, size: int, outputs: int) -> None:
        super().__init__()
        self.down_LHA = nn.Parameter(torch.empty(layers, width, size))
        self.bias_A = nn.Parameter(torch.zeros(size))
        self.dense_AC = nn.Parameter(torch.empty(size, outputs))

    def initialise(self, generator: Generator) -> None:
        layers, width, size = self.down_LHA.shape
        glorot(self.down_LHA, generator, fan_in=layers * width, fan_out=size)
        nn.init.zeros_(self.bias_A)
        glorot(self.dense_AC, generator, fan_in=size, fan_out=self.dense_AC.shape[1])

    def kept(self, tokens: int) -> int:
        return tokens * len(self.bias_A) * (5 if self.dropout else 3)

    @classmethod
    def columns(cls, branches: Sequence[Self], *, dropping: bool) -> Columns:
        return Columns(added_LHX=torch.cat([branch.down_LHA for branch in branches], dim=2))

    @classmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        features_TX = _features(branches, numbers)
        parts_TA = torch.split(features_TX, [len(branch.bias_A) for branch in branches], dim=1)
        pairs = zip(branches, parts_TA, strict=True)
        return [features_TA @ b.dense_AC for b, features_TA in pairs]

    @classmethod
    def kept_answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows, step: int
    ) -> list[Tensor]:
        starts = accumulate((len(branch.bias_A) for branch in branches), initial=0)
        readings = [
            Reading.at((0, start), b.dense_AC, b.dropout) for start, b in zip(starts, branches, strict=False)
        ]
        return read_kept(_features(branches, numbers)[None], readings, step)


def _features(branches: Sequence[Mlp], numbers: Numbers) -> Tensor:
    """features_TX of all, side by side."""
    bias_X = torch.cat([branch.bias_A for branch in branches])
    return functional.gelu(numbers.added_TX + bias_X)
