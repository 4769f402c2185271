"""Branches that read few numbers of every token.

All kinds of them share one wide product: a kind says what columns it wants, and what it makes of the numbers.
"""

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Hashable, Sequence
from typing import Self

from torch import Tensor

from bv_search.heads.branches.bottleneck import in_order
from bv_search.heads.branches.branch import Branch
from bv_search.heads.branches.columns import Columns, Numbers, read_out, read_plainly
from bv_search.heads.branches.windows import Windows


class Reader(Branch):
    takes_narrow = True

    @property
    def fuse_key(self) -> Hashable:
        return Reader

    @property
    def stack_key(self) -> Hashable:
        """Branches alike in it are stacked: they share what a kind does before and after the product."""
        return type(self), self.dropout is None

    @classmethod
    @abstractmethod
    def columns(cls, branches: Sequence[Self], *, dropping: bool) -> Columns:
        """What all of them want of every token."""

    @classmethod
    @abstractmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        """out_TC of every branch, where none drops features."""

    @classmethod
    @abstractmethod
    def kept_answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows, step: int
    ) -> list[Tensor]:
        """The same where all drop some at this step, each of its own: that takes the features themselves."""

    def plain(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        numbers = read_plainly(hidden_LTH, self.columns([self], dropping=False))
        (out_TC,) = self.answers([self], numbers, hidden_LTH, windows)
        return out_TC

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        groups = _stacks(branches)
        stacks = [[branches[k] for k in group] for group in groups]
        steps = [None if stack[0].dropout is None else windows.step for stack in stacks]
        wanted = [
            type(stack[0]).columns(stack, dropping=step is not None)
            for stack, step in zip(stacks, steps, strict=True)
        ]
        read = read_out(hidden_LTH, wanted)
        found = [
            _answers(stack, numbers, hidden_LTH, windows, step)
            for stack, numbers, step in zip(stacks, read, steps, strict=True)
        ]
        return in_order(groups, found)


def _answers(
    stack: Sequence[Reader], numbers: Numbers, hidden_LTH: Tensor, windows: Windows, step: int | None
) -> list[Tensor]:
    kind = type(stack[0])
    if step is None:
        return kind.answers(stack, numbers, hidden_LTH, windows)
    return kind.kept_answers(stack, numbers, hidden_LTH, windows, step)


def _stacks(branches: Sequence[Reader]) -> list[list[int]]:
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for k, branch in enumerate(branches):
        groups[branch.stack_key].append(k)
    return list(groups.values())
