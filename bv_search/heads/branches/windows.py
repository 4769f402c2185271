"""What branches know of a batch besides its hidden states."""

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
    def owners_T(self) -> Tensor:
        """Each token's window."""
        windows_N = torch.arange(len(self.lengths_N), device=self.lengths_N.device)
        return windows_N.repeat_interleave(self.lengths_N)

    @cached_property
    def positions_T(self) -> Tensor:
        """Each token's position in its window."""
        return torch.arange(len(self.owners_T), device=self.lengths_N.device) - self.firsts_N[self.owners_T]

    def strip(self, *, reach: int, stride: int = 1) -> Strip:
        """The strip for convolutions of this reach, shared by all branches that need it."""
        key = reach, stride
        if key not in self._strips:
            self._strips[key] = Strip.lay_out(self.lengths_N, reach=reach, stride=stride)
        return self._strips[key]
