"""A shared adapter on every layer of every token, flattened with the tokens into the dense layer.

Each token gives what its position's part of the dense layer makes of it; their sum is the answer. So the
padding that a fixed length needs adds nothing, and its length is a matter of the weights alone.

P positions, S tokens of the batch's longest window, N windows.
"""

from collections.abc import Sequence
from typing import Self

import torch
from torch import Generator, Tensor, nn
from torch.nn import functional

from bv_search.heads.branches.branch import Branch, glorot
from bv_search.heads.branches.windows import Windows


class FlatAdapter(Branch):
    def __init__(self, layers: int, width: int, size: int, outputs: int, *, tokens: int) -> None:
        super().__init__()
        self.down_HA = nn.Parameter(torch.empty(width, size))
        self.bias_A = nn.Parameter(torch.zeros(size))
        self.dense_PLAC = nn.Parameter(torch.empty(tokens, layers, size, outputs))

    def initialise(self, generator: Generator) -> None:
        width, size = self.down_HA.shape
        glorot(self.down_HA, generator, fan_in=width, fan_out=size)
        nn.init.zeros_(self.bias_A)
        positions, layers, _, outputs = self.dense_PLAC.shape
        glorot(self.dense_PLAC, generator, fan_in=positions * layers * size, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        _, layers, size, _ = self.dense_PLAC.shape
        return 5 * tokens * layers * size

    def work(self) -> int:
        _, layers, size, outputs = self.dense_PLAC.shape
        return layers * (self.down_HA.numel() + size * outputs)

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        layers, tokens, width = hidden_LTH.shape
        bias_N = torch.cat([branch.bias_A for branch in branches])
        down_HN = torch.cat([branch.down_HA for branch in branches], dim=1)
        features = functional.gelu(torch.addmm(bias_N, hidden_LTH.reshape(layers * tokens, width), down_HN))
        sizes = [len(branch.bias_A) for branch in branches]
        parts = torch.split(features.view(layers, tokens, -1), sizes, dim=2)
        return [b._read_out(part, windows) for b, part in zip(branches, parts, strict=True)]

    def _read_out(self, features_LTA: Tensor, windows: Windows) -> Tensor:
        features_SNF = windows.pad(self.drop(features_LTA, windows).transpose(0, 1).flatten(1))
        longest = features_SNF.shape[0]  # len would hold a tracer to one length
        assert longest <= self.dense_PLAC.shape[0], "a head fits the windows of its task"
        return windows.unpad(torch.bmm(features_SNF, self.dense_PLAC[:longest].flatten(1, 2)))
