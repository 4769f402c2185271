"""The contract of a branch.

Shapes: L layers, T tokens of all windows back to back, H width, C outputs, A adapter size, K branches,
F features, W places along a width.
"""

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import ClassVar, Self

from torch import Generator, Tensor, nn

from bv_search.heads.branches.dropout import Dropout
from bv_search.heads.branches.windows import Windows


class Branch(nn.Module, ABC):
    """Maps hidden_LTH to its share of the outputs, out_TC; branches with one `fuse_key` run as one."""

    dropout: Dropout | None = None
    takes_narrow: ClassVar[bool] = False
    """Whether it reads hidden states of 16 bits as they are; for the others they are widened."""

    @property
    def fuse_key(self) -> Hashable:
        return type(self)

    @abstractmethod
    def kept(self, tokens: int) -> int:
        """Numbers that a training step over so many tokens keeps: what its memory is planned by."""

    def work(self) -> int:
        """Multiplications for a token: what lanes are shared out by."""
        return sum(parameter.numel() for parameter in self.parameters())

    @abstractmethod
    def initialise(self, generator: Generator) -> None:
        """Draw the first weights; what is not drawn is zero (biases) or neutral (mixes)."""

    @classmethod
    @abstractmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        """out_TC of every branch, from one reading of the hidden states.

        Branch k's result depends on nothing of the others: not on their number, order or values
        (a diverged one beside it included), beyond the rounding of a wider matmul.
        """

    def plain(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        """out_TC by itself and while scoring, in operations that a tracer can follow."""
        (out_TC,) = self.fused([self], hidden_LTH, windows)
        return out_TC

    def drop(self, features: Tensor, windows: Windows, part: int = 0) -> Tensor:
        """What the dense layer sees of the features: all of them while scoring."""
        if self.dropout is None or windows.step is None:
            return features
        return self.dropout(features, windows.step, part)

    def mask(self, shape: Sequence[int], windows: Windows) -> Tensor | None:
        """What features will be multiplied with, before there are any; None while scoring."""
        if self.dropout is None or windows.step is None:
            return None
        return self.dropout.mask(shape, windows.lengths_N.device, windows.step)


class Solo(Branch):
    """A branch that takes its turn: what it does is too heavy for a wider operation to be faster.

    Measured on CPU: grouped convolutions of K heads took 1.2 to 2.2 times as long as one after the other.
    In return its numbers are the same to the last bit alone and in any pack, which deep heads need: they
    amplify rounding. `scan/lanes.py` sees to the rest.
    """

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        return [branch.alone(hidden_LTH, windows) for branch in branches]

    @abstractmethod
    def alone(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        """out_TC."""


def glorot(weight: Tensor, generator: Generator, *, fan_in: int, fan_out: int) -> None:
    limit = (6.0 / (fan_in + fan_out)) ** 0.5
    nn.init.uniform_(weight, -limit, limit, generator=generator)
