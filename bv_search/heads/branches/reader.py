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
from bv_search.heads.branches.columns import Columns, Numbers, read_out
from bv_search.heads.branches.windows import Windows


class Reader(Branch):
    @property
    def fuse_key(self) -> Hashable:
        return Reader

    @property
    def stack_key(self) -> Hashable:
        """Branches alike in it are stacked: they share what a kind does before and after the product."""
        return type(self), self.dropout is None

    @classmethod
    @abstractmethod
    def columns(cls, branches: Sequence[Self]) -> Columns:
        """What all of them want of every token."""

    @classmethod
    @abstractmethod
    def answers(
        cls, branches: Sequence[Self], numbers: Numbers, hidden_LTH: Tensor, windows: Windows
    ) -> list[Tensor]:
        """out_TC of every branch. Dropout needs the features themselves, so it looks at the hidden states."""

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        groups = _stacks(branches)
        stacks = [[branches[k] for k in group] for group in groups]
        read = read_out(hidden_LTH, [type(stack[0]).columns(stack) for stack in stacks])
        found = [
            type(stack[0]).answers(stack, numbers, hidden_LTH, windows)
            for stack, numbers in zip(stacks, read, strict=True)
        ]
        return in_order(groups, found)


def _stacks(branches: Sequence[Reader]) -> list[list[int]]:
    groups: dict[Hashable, list[int]] = defaultdict(list)
    for k, branch in enumerate(branches):
        groups[branch.stack_key].append(k)
    return list(groups.values())
