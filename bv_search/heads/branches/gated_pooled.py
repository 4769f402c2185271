"""A mix of the layers in which each token has gates of its own, then the dense layer.

A gate scales what the dense layer says of its layer, so H numbers a token are never mixed: each layer gives
its gate's score and C numbers. Dropout stands between the two, so branches that have it mix first.
"""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.columns import Columns, Numbers
from bv_search.heads.branches.kept import Reading, read_kept
from bv_search.heads.branches.mix import Mix, stack_mixes
from bv_search.heads.branches.reader import Reader
from bv_search.heads.branches.windows import Windows


class GatedPooled(Reader):
    def __init__(self, layers: int, width: int, outputs: int) -> None:
        super().__init__()
        self.mix = Mix(layers, learned=True)
        self.gate_LH = nn.Parameter(torch.empty(layers, width))
        self.bias_L = nn.Parameter(torch.zeros(layers))
        self.dense_HC = nn.Parameter(torch.empty(width, outputs))

    def initialise(self, generator: Generator) -> None:
        """All gates start half open."""
        self.mix.initialise()
        nn.init.zeros_(self.gate_LH)
        nn.init.zeros_(self.bias_L)
        width, outputs = self.dense_HC.shape
        glorot(self.dense_HC, generator, fan_in=width, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        (layers, width), outputs = self.gate_LH.shape, self.dense_HC.shape[1]
        if self.dropout:
            return tokens * (4 * layers + 2 * width)
        return tokens * layers * (4 + 3 * outputs)

    @classmethod
    def columns(cls, branches: Sequence[Self], *, dropping: bool) -> Columns:
        """Of each layer, and of each branch: the gate, then the dense layer."""
        layers = len(branches[0].gate_LH)
        wanted_KLHX = torch.stack([branch._wanted_LHX(dropping=dropping) for branch in branches])
        wanted_LHX = wanted_KLHX.permute(1, 2, 0, 3).flatten(2)
        return Columns(apart_HX=dict(zip(range(layers), wanted_LHX.unbind(), strict=True)))

    def _wanted_LHX(self, *, dropping: bool) -> Tensor:
        gate_LH1 = self.gate_LH[:, :, None]
        if dropping:
            return gate_LH1
        return torch.cat([gate_LH1, self.dense_HC.expand(len(gate_LH1), -1, -1)], dim=2)

    @classmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        read_LTKX = _of_branches(branches, numbers)
        shares_LTK = _shares(branches, read_LTKX[..., 0])
        return list((shares_LTK[..., None] * read_LTKX[..., 1:]).sum(dim=0).unbind(dim=1))

    @classmethod
    def kept_answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows, step: int
    ) -> list[Tensor]:
        shares_LTK = _shares(branches, _of_branches(branches, numbers)[..., 0])
        pooled_KTH = torch.einsum("ltk,lth->kth", shares_LTK, hidden_LTH)
        readings = [Reading.at((k, 0), b.dense_HC, b.dropout) for k, b in enumerate(branches)]
        return read_kept(pooled_KTH, readings, step)


def _of_branches(branches: Sequence[GatedPooled], numbers: Numbers) -> Tensor:
    """read_LTKX."""
    read_LTX = torch.stack([numbers.apart_TX[layer] for layer in range(len(branches[0].gate_LH))])
    return read_LTX.view(*read_LTX.shape[:2], len(branches), -1)


def _shares(branches: Sequence[GatedPooled], scores_LTK: Tensor) -> Tensor:
    """shares_LTK: what a gate lets through of a layer, times its weight in the mix."""
    bias_LK = torch.stack([branch.bias_L for branch in branches], dim=1)
    mixes_LK = stack_mixes([branch.mix for branch in branches], scores_LTK).t()
    return torch.sigmoid(scores_LTK + bias_LK[:, None]) * mixes_LK[:, None]
