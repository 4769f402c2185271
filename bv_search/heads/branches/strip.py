"""A strip: windows one after the other with gaps of zeros, so that one convolution runs over them all.

The gaps are wider than the convolutions reach, so nothing leaks from window to window, and the zeros are
what each window would be padded with by itself. Windows start at multiples of the stride, so a shortened
strip holds each window shortened by itself.

F features, P places of a strip.
"""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor


@dataclass(frozen=True, kw_only=True, eq=False)
class Strip:
    places_T: Tensor  # where each token stands
    inside_P: Tensor  # whether a place holds a token

    @classmethod
    def lay_out(cls, lengths_N: Tensor, *, reach: int, stride: int = 1) -> Self:
        """`reach`: places that a convolution looks to either side, after all shortening by `stride`."""
        gap = reach * stride
        slots_N = (lengths_N + gap + stride - 1) // stride * stride
        shifts_N = slots_N.cumsum(0) - slots_N - (lengths_N.cumsum(0) - lengths_N)
        tokens = int(lengths_N.sum())
        places_T = torch.arange(tokens, device=lengths_N.device) + shifts_N.repeat_interleave(lengths_N)
        inside_P = torch.zeros(int(slots_N.sum()), dtype=torch.bool, device=lengths_N.device)
        inside_P[places_T] = True
        return cls(places_T=places_T, inside_P=inside_P)

    def lay(self, x_TF: Tensor) -> Tensor:
        """x_1FP, as convolutions want it."""
        x_PF = x_TF.new_zeros(len(self.inside_P), x_TF.shape[1]).index_copy(0, self.places_T, x_TF)
        return x_PF.T[None]

    def take(self, x_1FP: Tensor, *, stride: int = 1) -> Tensor:
        """x_TF; of a strip shortened by `stride`, each place goes to all the tokens that it stands for."""
        return x_1FP[0].T[self.places_T // stride]

    def clear(self, x_1FP: Tensor, *, stride: int = 1, value: float = 0.0) -> Tensor:
        """The same with the gaps filled: a convolution's output there is nothing of any window."""
        return x_1FP.masked_fill(~self.inside_P[::stride], value)
