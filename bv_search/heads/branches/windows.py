"""What branches know of a batch besides its hidden states.

N windows, S tokens of the longest, F numbers of a token.
"""

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from bv_search.heads.branches.strip import Strip


@dataclass(kw_only=True, eq=False)
class Windows:
    """The windows that the tokens belong to; `step` is the micro-batch of training, None while scoring.

    While training, batch norm goes by this batch and dropout draws; while scoring neither does, and
    nothing of a window depends on what stands beside it.
    """

    lengths_N: Tensor  # tokens of each window
    step: int | None = None
    _strips: dict[tuple[int, int], Strip] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def firsts_N(self) -> Tensor:
        """Each window's first token."""
        return self.lengths_N.cumsum(0) - self.lengths_N

    @cached_property
    def lasts_N(self) -> Tensor:
        return self.lengths_N.cumsum(0) - 1

    @cached_property
    def owners_T(self) -> Tensor:
        """Each token's window."""
        windows_N = torch.arange(len(self.lengths_N), device=self.lengths_N.device)
        return windows_N.repeat_interleave(self.lengths_N)

    @cached_property
    def positions_T(self) -> Tensor:
        """Each token's position in its window."""
        return torch.arange(len(self.owners_T), device=self.lengths_N.device) - self.firsts_N[self.owners_T]

    def sums(self, x_TF: Tensor) -> Tensor:
        """x_NF."""
        return x_TF.new_zeros(len(self.lengths_N), x_TF.shape[1]).index_add(0, self.owners_T, x_TF)

    def maxima(self, x_TF: Tensor) -> Tensor:
        """x_NF."""
        return self.pad(x_TF, float("-inf")).amax(dim=0)

    def softmax(self, x_TF: Tensor) -> Tensor:
        """x_TF, over the tokens of each window."""
        return self.unpad(self.pad(x_TF, float("-inf")).softmax(dim=0))

    def pad(self, x_TF: Tensor, value: float = 0.0) -> Tensor:
        """x_SNF: windows side by side. For few numbers of a token, never for hidden states."""
        longest, count = int(self.lengths_N.max()), len(self.lengths_N)
        x_PF = x_TF.new_full((longest * count, x_TF.shape[1]), value).index_copy(0, self._places_T, x_TF)
        return x_PF.view(longest, count, -1)

    def unpad(self, x_SNF: Tensor) -> Tensor:
        """x_TF."""
        return x_SNF.flatten(0, 1).index_select(0, self._places_T)

    @cached_property
    def _places_T(self) -> Tensor:
        """Where each token stands among all that are padded."""
        return self.positions_T * len(self.lengths_N) + self.owners_T

    def strip(self, *, reach: int, stride: int = 1) -> Strip:
        """The strip for convolutions of this reach, shared by all branches that need it."""
        key = reach, stride
        if key not in self._strips:
            self._strips[key] = Strip.lay_out(self.lengths_N, reach=reach, stride=stride)
        return self._strips[key]
