"""An adapter on a mix of the layers, then the dense layer.

Heads with plain means share one mix, and stand side by side on it; every learned mix has its head alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import torch
from torch import Generator, Tensor, nn
from torch.autograd.function import once_differentiable

from bv_search.heads.branches.adapted_mix import AdaptedMix
from bv_search.heads.branches.bottleneck import (
    Bottleneck,
    Masks,
    Stem,
    join,
    masks_of,
    part,
    piece_of,
    side_by_side,
)
from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.mix import Mix, apply_mixes, stack_mixes
from bv_search.heads.branches.product import product
from bv_search.heads.branches.windows import Windows

LEAST_ROWS = 256  # of a piece: matmuls of fewer are slower than what they save


class PooledAdapter(AdaptedMix):
    def __init__(self, layers: int, width: int, size: int, outputs: int, *, learned: bool) -> None:
        super().__init__(layers, width, size, learned=learned)
        self.dense_AC = nn.Parameter(torch.empty(size, outputs))

    def initialise(self, generator: Generator) -> None:
        super().initialise(generator)
        size, outputs = self.dense_AC.shape
        glorot(self.dense_AC, generator, fan_in=size, fan_out=outputs)

    def kept(self, tokens: int) -> int:
        return tokens * len(self.bias_A) * (2 if self.dropout else 1)

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        tokens = hidden_LTH.shape[1]
        masks = [b.mask((tokens, len(b.bias_A)), windows) for b in branches]
        mixes = _Mixes.of([branch.mix for branch in branches])
        mixes_ML = stack_mixes(mixes.distinct, hidden_LTH)
        weights = [tensor for b in branches for tensor in (b.down_HA, b.bias_A, b.dense_AC)]
        learning = torch.is_grad_enabled()
        outputs = _OnMixes.apply(hidden_LTH, masks, learning, mixes, mixes_ML, *weights)  # type: ignore[no-untyped-call]
        return list(outputs)


@dataclass(frozen=True, kw_only=True)
class _Mixes:
    """Every mix once, which of them is each head's, and which learn."""

    distinct: list[Mix]
    of_head: list[int]
    learned: frozenset[int]

    @classmethod
    def of(cls, mixes: Sequence[Mix]) -> Self:
        keys = [id(mix) if mix.logits_L is not None else 0 for mix in mixes]
        by_key = dict(zip(keys, mixes, strict=True))
        numbers = {key: number for number, key in enumerate(by_key)}
        return cls(
            distinct=list(by_key.values()),
            of_head=[numbers[key] for key in keys],
            learned=frozenset(number for key, number in numbers.items() if key),
        )


class _OnMixes(torch.autograd.Function):
    """hidden_LTH, masks, whether it learns, the mixes, mixes_ML, then three tensors a head → out_TC."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_LTH: Tensor,
        masks: Masks,
        learning: bool,
        mixes: _Mixes,
        mixes_ML: Tensor,
        *weights: Tensor,
    ) -> Any:
        heads = [weights[n : n + 3] for n in range(0, len(weights), 3)]
        layers, tokens, width = hidden_LTH.shape
        rows = _rows((layers + len(mixes_ML)) * width, hidden_LTH.device)
        groups = list(_groups(heads, mixes.of_head, rows, hidden_LTH.device))
        bottlenecks = [_bottleneck([heads[k] for k in group]) for group in groups]
        counts = [dense_AC.shape[1] for _, _, dense_AC in heads]
        outputs = [hidden_LTH.new_empty(tokens, sum(counts[k] for k in group)) for group in groups]
        steps = []
        for start in range(0, tokens, rows):
            piece = slice(start, start + rows)
            pooled_MRH = apply_mixes(mixes_ML, hidden_LTH[:, piece])
            for group, bottleneck, out_TX in zip(groups, bottlenecks, outputs, strict=True):
                x_RH = pooled_MRH[mixes.of_head[group[0]]]
                before_RN, out_TX[piece] = bottleneck.forward(x_RH, masks_of(masks, group, piece))
                if learning:
                    steps.append(before_RN)
        ctx.hidden_LTH, ctx.masks, ctx.mixes, ctx.mixes_ML = hidden_LTH, masks, mixes, mixes_ML
        ctx.rows, ctx.groups, ctx.bottlenecks, ctx.steps = rows, groups, bottlenecks, steps
        ctx.shapes = [tensor.shape for tensor in weights]
        return tuple(part(outputs, groups, counts))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads_TC: Tensor) -> Any:
        hidden_LTH, learned = ctx.hidden_LTH, ctx.mixes.learned
        grads = [hidden_LTH.new_zeros(shape) for shape in ctx.shapes]
        grads_ML = torch.zeros_like(ctx.mixes_ML)
        grads_TX = join(grads_TC, ctx.groups)
        steps = iter(ctx.steps)
        for start in range(0, hidden_LTH.shape[1], ctx.rows):
            piece = slice(start, start + ctx.rows)
            hidden_LRH = hidden_LTH[:, piece]
            pooled_MRH = apply_mixes(ctx.mixes_ML, hidden_LRH)
            grads_MRH = torch.zeros_like(pooled_MRH) if learned else None
            for group, bottleneck, grad_TX in zip(ctx.groups, ctx.bottlenecks, grads_TX, strict=True):
                mix = ctx.mixes.of_head[group[0]]
                masks = masks_of(ctx.masks, group, piece)
                found = bottleneck.backward(pooled_MRH[mix], next(steps), masks, grad_TX[piece])
                for k, tensors in zip(group, found.of_heads(), strict=True):
                    torch._foreach_add_(grads[3 * k : 3 * k + 3], list(tensors))
                if grads_MRH is not None and mix in learned:
                    grads_MRH[mix] = product(found.before_RN, bottleneck.stem.weight_NH.t())
            if grads_MRH is not None:
                grads_ML += grads_MRH.flatten(1) @ hidden_LRH.reshape(len(hidden_LRH), -1).t()
        return None, None, None, None, grads_ML if learned else None, *grads


def _rows(numbers: int, device: torch.device) -> int:
    """Tokens of a piece, each of which has so many numbers."""
    return max(LEAST_ROWS, 2 * piece_of(device) // numbers)


def _groups(
    heads: Sequence[Sequence[Tensor]], mix_of: Sequence[int], rows: int, device: torch.device
) -> Iterator[list[int]]:
    sizes = [len(bias_A) for _, bias_A, _ in heads]
    by_mix: dict[int, list[int]] = defaultdict(list)
    for k, mix in enumerate(mix_of):
        by_mix[mix].append(k)
    for members in by_mix.values():
        yield from side_by_side(members, sizes, rows, device)


def _bottleneck(heads: Sequence[Sequence[Tensor]]) -> Bottleneck:
    stem = Stem.of([down_HA for down_HA, _, _ in heads], [bias_A for _, bias_A, _ in heads])
    return Bottleneck(stem=stem, dense_AC=[dense_AC for _, _, dense_AC in heads])
