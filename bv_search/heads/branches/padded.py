"""Windows that stand padded, one beside the other, as programs outside of this one have them.

Branches work on them as on windows back to back. No size depends on a number in a tensor, so that a tracer
can follow; what padding says is never heard.

N windows, S tokens of each with padding, T = N · S, F numbers of a token, P places of a strip.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from bv_search.heads.branches.strip import Strip
from bv_search.heads.branches.windows import Windows


@dataclass(kw_only=True, eq=False)
class PaddedWindows(Windows):
    inside_NS: Tensor  # whether it is a token of the window

    @classmethod
    def of(cls, inside_NS: Tensor) -> "PaddedWindows":
        return cls(lengths_N=inside_NS.sum(dim=1), inside_NS=inside_NS)

    @cached_property
    def firsts_N(self) -> Tensor:
        windows, longest = self.inside_NS.shape
        return torch.arange(windows, device=self.inside_NS.device) * longest

    @cached_property
    def lasts_N(self) -> Tensor:
        return self.firsts_N + self.lengths_N - 1

    @cached_property
    def owners_T(self) -> Tensor:
        windows_N1 = torch.arange(self.inside_NS.shape[0], device=self.inside_NS.device)[:, None]
        return windows_N1.expand_as(self.inside_NS).flatten()

    @cached_property
    def positions_T(self) -> Tensor:
        positions_S = torch.arange(self.inside_NS.shape[1], device=self.inside_NS.device)
        return positions_S.expand_as(self.inside_NS).flatten()

    def sums(self, x_TF: Tensor) -> Tensor:
        return self.pad(x_TF).sum(dim=0)

    def pad(self, x_TF: Tensor, value: float = 0.0) -> Tensor:
        windows, longest = self.inside_NS.shape
        x_NSF = x_TF.reshape(windows, longest, x_TF.shape[1])
        return x_NSF.masked_fill(~self.inside_NS[..., None], value).transpose(0, 1)

    def unpad(self, x_SNF: Tensor) -> Tensor:
        return x_SNF.transpose(0, 1).flatten(0, 1)

    def strip(self, *, reach: int, stride: int = 1) -> Strip:
        """A strip for each window: its own padding is the gap."""
        return _PaddedStrip(places_T=self.positions_T, inside_P=self.inside_NS)


class _PaddedStrip(Strip):
    """`inside_P` is of each window, (N, P)."""

    def lay(self, x_TF: Tensor) -> Tensor:
        """x_NFP."""
        windows, longest = self.inside_P.shape
        x_NSF = x_TF.reshape(windows, longest, x_TF.shape[1])
        return x_NSF.masked_fill(~self.inside_P[..., None], 0.0).transpose(1, 2)

    def take(self, x_NFP: Tensor, *, stride: int = 1) -> Tensor:
        if stride > 1:
            places_S = torch.arange(self.inside_P.shape[1], device=x_NFP.device) // stride
            x_NFP = x_NFP.index_select(2, places_S)
        return x_NFP.transpose(1, 2).flatten(0, 1)

    def clear(self, x_NFP: Tensor, *, stride: int = 1, value: float = 0.0) -> Tensor:
        places_P = torch.arange(x_NFP.shape[2], device=x_NFP.device) * stride
        return x_NFP.masked_fill(~self.inside_P.index_select(1, places_P)[:, None], value)
