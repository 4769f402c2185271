"""Learned queries look for their tokens in a window; what each finds goes into the dense layer.

Both the scores and the dense layer are linear in the mix of the layers, so a token gives M scores and M·C
numbers, and states of width H are neither mixed nor pooled. Dropout stands between pooling and the dense
layer, so branches that have it mix and pool.

M queries, P positions that have a bias: those after the last share its own.
"""

from collections.abc import Hashable, Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.columns import Columns, Numbers
from bv_search.heads.branches.mix import Mix, mix_dense, mix_layers
from bv_search.heads.branches.reader import Reader
from bv_search.heads.branches.windows import Windows
from bv_search.heads.config import AttentionHead, HeadShape

POSITIONS = 33


class Attention(Reader):
    def __init__(self, config: AttentionHead, shape: HeadShape) -> None:
        super().__init__()
        self.mix = Mix(shape.layers, learned=config.pooling == "learned")
        self.query_MH = nn.Parameter(torch.empty(config.queries, shape.width))
        self.bias_PM = nn.Parameter(torch.zeros(POSITIONS, config.queries)) if config.position_bias else None
        self.dense_MHC = nn.Parameter(torch.empty(config.queries, shape.width, shape.outputs))

    @property
    def stack_key(self) -> Hashable:
        return super().stack_key, len(self.query_MH), self.bias_PM is None

    def initialise(self, generator: Generator) -> None:
        """Queries start with the mean of a window's tokens, and part because their dense layers differ."""
        self.mix.initialise()
        nn.init.zeros_(self.query_MH)
        if self.bias_PM is not None:
            nn.init.zeros_(self.bias_PM)
        queries, width, outputs = self.dense_MHC.shape
        glorot(self.dense_MHC, generator, fan_in=queries * width, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        queries, width, outputs = self.dense_MHC.shape
        return tokens * (4 * queries + (2 * width if self.dropout else 3 * queries * outputs))

    @classmethod
    def columns(cls, branches: Sequence[Self], *, dropping: bool) -> Columns:
        """Of each branch: the queries, then the dense layers behind them."""
        wanted_KHX = torch.stack([branch._wanted_HX(dropping=dropping) for branch in branches])
        return Columns(added_LHX=mix_dense([branch.mix for branch in branches], wanted_KHX))

    def _wanted_HX(self, *, dropping: bool) -> Tensor:
        if dropping:
            return self.query_MH.t()
        return torch.cat([self.query_MH.t(), self.dense_MHC.transpose(0, 1).flatten(1)], dim=1)

    @classmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        """What each token adds to its window's answer."""
        queries, _, outputs = branches[0].dense_MHC.shape
        read_TKX = _of_branches(branches, numbers)
        shares_TKM = _shares(branches, read_TKX[..., :queries], windows)
        said_TKMC = read_TKX[..., queries:].reshape(*shares_TKM.shape, outputs)
        return list((shares_TKM[..., None] * said_TKMC).sum(dim=2).unbind(dim=1))

    @classmethod
    def kept_answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows, step: int
    ) -> list[Tensor]:
        shares_TKM = _shares(branches, _of_branches(branches, numbers), windows)
        mixed_KTH = mix_layers([branch.mix for branch in branches], hidden_LTH).float()
        found = zip(branches, shares_TKM.unbind(dim=1), mixed_KTH, strict=True)
        return [b._drop_and_read(shares_TM, mixed_TH, windows) for b, shares_TM, mixed_TH in found]

    def _drop_and_read(self, shares_TM: Tensor, mixed_TH: Tensor, windows: Windows) -> Tensor:
        """All that a window's tokens add stands at its first."""
        lengths = windows.lengths_N.tolist()
        pairs = zip(torch.split(shares_TM, lengths), torch.split(mixed_TH, lengths), strict=True)
        pooled_NMH = torch.stack([shares_SM.t() @ mixed_SH for shares_SM, mixed_SH in pairs])
        out_NC = self.drop(pooled_NMH, windows).flatten(1) @ self.dense_MHC.flatten(0, 1)
        return out_NC.new_zeros(len(mixed_TH), out_NC.shape[1]).index_copy(0, windows.firsts_N, out_NC)


def _of_branches(branches: Sequence[Attention], numbers: Numbers) -> Tensor:
    """read_TKX."""
    return numbers.added_TX.view(numbers.added_TX.shape[0], len(branches), -1)


def _shares(branches: Sequence[Attention], scores_TKM: Tensor, windows: Windows) -> Tensor:
    """shares_TKM: of each window's attention, what a token has."""
    scores_TX = scores_TKM.flatten(1)
    biases_PM: list[Tensor] = [branch.bias_PM for branch in branches if branch.bias_PM is not None]
    if biases_PM:
        places_T = windows.positions_T.clamp(max=POSITIONS - 1)
        scores_TX = scores_TX + torch.cat(biases_PM, dim=1).index_select(0, places_T)
    return windows.softmax(scores_TX).view_as(scores_TKM)
