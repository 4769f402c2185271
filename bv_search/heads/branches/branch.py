"""The contract of a branch.

Shapes: L layers, T tokens of all windows back to back, H width, C outputs, A adapter size, K branches.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Self

from torch import Generator, Tensor, nn


class Branch(nn.Module, ABC):
    """Maps hidden_LTH to its share of the outputs, out_TC; branches with one `fuse_key` run as one."""

    @property
    def fuse_key(self) -> Hashable:
        return type(self)

    @property
    @abstractmethod
    def activations(self) -> int:
        """Numbers that a training step keeps for each token: what its memory is planned by."""

    @abstractmethod
    def initialise(self, generator: Generator) -> None:
        """Draw the first weights; what is not drawn is zero (biases) or neutral (mixes)."""

    @classmethod
    @abstractmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor) -> list[Tensor]:
        """out_TC of every branch, from one reading of the hidden states.

        Branch k's result depends on nothing of the others: not on their number, order or values
        (a diverged one beside it included), beyond the rounding of a wider matmul.
        """

    def forward(self, hidden_LTH: Tensor) -> Tensor:
        return self.fused([self], hidden_LTH)[0]


def glorot(weight: Tensor, generator: Generator, *, fan_in: int, fan_out: int) -> None:
    limit = (6.0 / (fan_in + fan_out)) ** 0.5
    nn.init.uniform_(weight, -limit, limit, generator=generator)
