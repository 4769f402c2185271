"""Bottlenecks of several heads side by side on one input: gelu(x W + b), then each head's own dense layer.

Forward and gradient are written out: autograd would keep and move every intermediate of the whole batch,
and adapters would wait for that traffic, not for arithmetic. Here a piece of the batch goes all the way
while it is in the cache, and only what is before the gelu is kept.

R rows of a piece, H width; N features and X outputs of all heads side by side, A and C of one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import torch
from torch import Tensor

from bv_search.heads.branches.dense import Dense, Masks
from bv_search.heads.branches.product import GradientSum, product

Each = TypeVar("Each")


@dataclass(frozen=True, kw_only=True)
class Piece:
    """How much goes through a bottleneck at once."""

    rows: int  # at least, where there are so many: matmuls of fewer are slower
    numbers: int  # features of all rows, about

    def groups(self, heads: Sequence[int], sizes: Sequence[int], tokens: int) -> list[list[int]]:
        """Heads that go side by side."""
        most = self.numbers // max(1, min(tokens, self.rows))
        groups: list[list[int]] = []
        features = 0
        for head in heads:
            features += sizes[head]
            if not groups or features > most:
                groups.append([])
                features = sizes[head]
            groups[-1].append(head)
        return groups

    def cut(self, tokens: int, features: int) -> list[slice]:
        """The rows of each piece, where the widest group has so many features."""
        rows = max(self.rows, self.numbers // features)
        return [slice(start, start + rows) for start in range(0, tokens, rows)]


PIECES = {
    "cpu": Piece(rows=512, numbers=1 << 18),  # what stays in the cache of a core
    "cuda": Piece(rows=512, numbers=1 << 26),
}


def piece_on(device: torch.device) -> Piece:
    return PIECES.get(device.type, PIECES["cuda"])


@dataclass(frozen=True, kw_only=True, eq=False)
class Stem:
    """The first weights of some heads, side by side."""

    weight_NH: Tensor
    bias_N: Tensor

    @classmethod
    def of(cls, down_HA: Sequence[Tensor], bias_A: Sequence[Tensor]) -> Self:
        return cls(weight_NH=torch.cat([down.t() for down in down_HA]), bias_N=torch.cat(list(bias_A)))


@dataclass(frozen=True, kw_only=True, eq=False)
class StemGradient:
    """What the pieces say of a stem, added up."""

    down_HN: GradientSum
    bias_N: Tensor

    @classmethod
    def zero(cls, stem: Stem) -> Self:
        return cls(down_HN=GradientSum(), bias_N=torch.zeros_like(stem.bias_N))

    def of_heads(self, sizes: Sequence[int]) -> Iterator[tuple[Tensor, Tensor]]:
        """down_HA and bias_A of each head."""
        sizes = list(sizes)
        return zip(
            torch.split(self.down_HN.sum(), sizes, dim=1), torch.split(self.bias_N, sizes), strict=True
        )


@dataclass(frozen=True, kw_only=True)
class Gradient:
    """What the pieces say of a bottleneck's weights, added up. Bottlenecks on one stem add to one of it."""

    stem: StemGradient
    dense: Tensor


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """The weights of some heads on one input."""

    stem: Stem
    dense: Dense

    def zero(self, stem: StemGradient) -> Gradient:
        return Gradient(stem=stem, dense=self.dense.zero())

    def forward(self, x_RH: Tensor, masks_RA: Masks, out_RX: Tensor) -> Tensor:
        """Adds to the outputs of all heads side by side; what is before the gelu."""
        before_RN = product(x_RH, self.stem.weight_NH, self.stem.bias_N)
        self.dense.read_out(before_RN, masks_RA, out_RX)
        return before_RN

    def backward(
        self, x_RH: Tensor, before_RN: Tensor, masks_RA: Masks, grad_RX: Tensor, into: Gradient
    ) -> Tensor:
        """Adds to the gradients of the weights; that of what is before the gelu."""
        grad_RN = self.dense.learn(before_RN, masks_RA, grad_RX, bias_N=into.stem.bias_N, dense=into.dense)
        into.stem.down_HN.add(x_RH, grad_RN)
        return grad_RN


def masks_of(masks: Masks, group: Sequence[int], at: int | slice | tuple[int, slice]) -> Masks:
    """The masks of a group's heads, at a piece of the tokens, of a layer."""
    return [None if (mask := masks[k]) is None else mask[at] for k in group]


def join(of_heads: Sequence[Tensor], groups: Sequence[Sequence[int]]) -> list[Tensor]:
    """What heads have, side by side in their groups."""
    return [_join([of_heads[k] for k in group]) for group in groups]


def part(of_groups: Sequence[Tensor], groups: Sequence[Sequence[int]], outputs: int) -> list[Tensor]:
    """What groups have, of each head."""
    return in_order(groups, (torch.split(together, outputs, dim=1) for together in of_groups))


def in_order(groups: Sequence[Sequence[int]], of_groups: Iterable[Iterable[Each]]) -> list[Each]:
    """What there is of each head of each group, as the heads are numbered."""
    found: dict[int, Each] = {}
    for group, of_heads in zip(groups, of_groups, strict=True):
        found |= zip(group, of_heads, strict=True)
    return [found[k] for k in range(len(found))]


def _join(parts: Sequence[Tensor]) -> Tensor:
    return parts[0].contiguous() if len(parts) == 1 else torch.cat(list(parts), dim=1)
