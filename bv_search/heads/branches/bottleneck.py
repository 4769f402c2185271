"""Bottlenecks of several heads side by side on one input: gelu(x W + b), then each head's own dense layer.

Forward and gradient are written out: autograd would keep and move every intermediate of the whole batch,
and adapters would wait for that traffic, not for arithmetic. Here a piece of the batch goes all the way
while it is in the cache, and only what is before the gelu is kept.

R rows of a piece, H width; N features and X outputs of all heads side by side, A and C of one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor
from torch.nn import functional

from bv_search.heads.branches.product import blockwise, gradient, product

PIECE = {"cpu": 1 << 20, "cuda": 1 << 26}
"""Features that one operation makes: on a CPU as many as stay in its cache."""

Masks = Sequence[Tensor | None]
"""What dropout leaves of each head's features; None: all."""


@dataclass(frozen=True, kw_only=True)
class Stem:
    """The first weights of some heads, side by side."""

    weight_NH: Tensor
    bias_N: Tensor

    @classmethod
    def of(cls, down_HA: Sequence[Tensor], bias_A: Sequence[Tensor]) -> Self:
        return cls(weight_NH=torch.cat([down.t() for down in down_HA]), bias_N=torch.cat(list(bias_A)))


@dataclass(frozen=True, kw_only=True)
class Bottleneck:
    """The weights of some heads on one input."""

    stem: Stem
    dense_AC: Sequence[Tensor]  # of each head

    def forward(self, x_RH: Tensor, masks_RA: Masks) -> tuple[Tensor, Tensor]:
        """What is before the gelu, and the outputs of all heads side by side."""
        before_RN = product(x_RH, self.stem.weight_NH, self.stem.bias_N)
        return before_RN, blockwise(self._features(before_RN, masks_RA), self.dense_AC)

    def backward(self, x_RH: Tensor, before_RN: Tensor, masks_RA: Masks, grad_RX: Tensor) -> "Gradient":
        features_RN = self._features(before_RN, masks_RA)
        # of all features by all outputs; what is a head's own is on the diagonal
        crossed_NX = torch.split(gradient(features_RN, grad_RX), self._sizes)
        outputs = [dense.shape[1] for dense in self.dense_AC]
        dense = [torch.split(rows_AX, outputs, dim=1)[k] for k, rows_AX in enumerate(crossed_NX)]
        grad_RN = _masked(blockwise(grad_RX, [d.t() for d in self.dense_AC]), masks_RA, self._sizes)
        before = torch.ops.aten.gelu_backward(grad_RN, before_RN)
        return Gradient(
            before_RN=before,
            down_HN=gradient(x_RH, before),
            bias_N=before.sum(dim=0),
            dense_AC=dense,
        )

    def _features(self, before_RN: Tensor, masks_RA: Masks) -> Tensor:
        return _masked(functional.gelu(before_RN), masks_RA, self._sizes)

    @property
    def _sizes(self) -> list[int]:
        return [dense.shape[0] for dense in self.dense_AC]


@dataclass(frozen=True, kw_only=True)
class Gradient:
    """Of a bottleneck's weights, and of what is before its gelu."""

    before_RN: Tensor
    down_HN: Tensor
    bias_N: Tensor
    dense_AC: Sequence[Tensor]

    def of_heads(self) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        """down_HA, bias_A and dense_AC of each head."""
        sizes = [dense.shape[0] for dense in self.dense_AC]
        down_HA, bias_A = torch.split(self.down_HN, sizes, dim=1), torch.split(self.bias_N, sizes)
        return zip(down_HA, bias_A, self.dense_AC, strict=True)


def piece_of(device: torch.device) -> int:
    return PIECE.get(device.type, PIECE["cuda"])


def masks_of(masks: Masks, group: Sequence[int], at: int | slice) -> Masks:
    """The masks of a group's heads, at a layer or a piece of the tokens."""
    return [None if (mask := masks[k]) is None else mask[at] for k in group]


def side_by_side(
    heads: Sequence[int], sizes: Sequence[int], rows: int, device: torch.device
) -> list[list[int]]:
    """Heads in groups, so that what a group makes of so many rows is one piece."""
    most = piece_of(device) // max(rows, 1)
    groups: list[list[int]] = []
    features = 0
    for head in heads:
        features += sizes[head]
        if not groups or features > most:
            groups.append([])
            features = sizes[head]
        groups[-1].append(head)
    return groups


def join(of_heads: Sequence[Tensor], groups: Sequence[Sequence[int]]) -> list[Tensor]:
    """What heads have, side by side in their groups."""
    return [_join([of_heads[k] for k in group]) for group in groups]


def part(of_groups: Sequence[Tensor], groups: Sequence[Sequence[int]], sizes: Sequence[int]) -> list[Tensor]:
    """What groups have, of each head."""
    found: dict[int, Tensor] = {}
    for together, group in zip(of_groups, groups, strict=True):
        found |= zip(group, torch.split(together, [sizes[k] for k in group], dim=1), strict=True)
    return [found[k] for k in range(len(sizes))]


def _masked(features_RN: Tensor, masks_RA: Masks, sizes: Sequence[int]) -> Tensor:
    if all(mask is None for mask in masks_RA):
        return features_RN
    parts = zip(torch.split(features_RN, list(sizes), dim=1), masks_RA, strict=True)
    return _join([part if mask is None else part * mask for part, mask in parts])


def _join(parts: Sequence[Tensor]) -> Tensor:
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), dim=1)
