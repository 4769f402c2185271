"""An adapter on a mix of the layers, then the dense layer.

Heads with plain means share one mix, and stand side by side on it; every learned mix has its head alone.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Self

import torch
from torch import Generator, Tensor, nn
from torch.autograd.function import once_differentiable

from bv_search.heads.branches.adapted_mix import AdaptedMix
from bv_search.heads.branches.bottleneck import (
    Bottleneck,
    Gradient,
    Stem,
    StemGradient,
    in_order,
    join,
    masks_of,
    part,
    piece_on,
)
from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.dense import Masks, dense_of
from bv_search.heads.branches.mix import Mixes, apply_mixes, mix_layers, stack_mixes
from bv_search.heads.branches.product import product, wide_dtype
from bv_search.heads.branches.windows import Windows


class PooledAdapter(AdaptedMix):
    takes_narrow = True

    def __init__(self, layers: int, width: int, size: int, outputs: int, *, learned: bool) -> None:
        super().__init__(layers, width, size, learned=learned)
        self.dense_AC = nn.Parameter(torch.empty(size, outputs))

    def initialise(self, generator: Generator) -> None:
        super().initialise(generator)
        size, outputs = self.dense_AC.shape
        glorot(self.dense_AC, generator, fan_in=size, fan_out=outputs)

    def plain(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        (pooled_TH,) = mix_layers([self.mix], hidden_LTH)
        return self.adapt(pooled_TH) @ self.dense_AC

    def kept(self, tokens: int) -> int:
        return tokens * len(self.bias_A) * (2 if self.dropout else 1)

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        tokens = hidden_LTH.shape[1]
        masks = [b.mask((tokens, len(b.bias_A)), windows) for b in branches]
        mixes = Mixes.of([branch.mix for branch in branches])
        mixes_ML = stack_mixes(mixes.distinct, hidden_LTH)
        weights = [tensor for b in branches for tensor in (b.down_HA, b.bias_A, b.dense_AC)]
        learning = torch.is_grad_enabled()
        outputs = _OnMixes.apply(hidden_LTH, masks, learning, mixes, mixes_ML, *weights)  # type: ignore[no-untyped-call]
        return list(outputs)


class _OnMixes(torch.autograd.Function):
    """hidden_LTH, masks, whether it learns, the mixes, mixes_ML, then three tensors a head → out_TC."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_LTH: Tensor,
        masks: Masks,
        learning: bool,
        mixes: Mixes,
        mixes_ML: Tensor,
        *weights: Tensor,
    ) -> Any:
        heads = [weights[n : n + 3] for n in range(0, len(weights), 3)]
        outputs, sizes = heads[0][2].shape[1], [len(bias_A) for _, bias_A, _ in heads]
        tokens, piece = hidden_LTH.shape[1], piece_on(hidden_LTH.device)
        groups = [group for of_mix in mixes.heads() for group in piece.groups(of_mix, sizes, tokens)]
        bottlenecks = [_bottleneck([heads[k] for k in group]) for group in groups]
        out_TX = [
            hidden_LTH.new_zeros(tokens, outputs * len(group), dtype=wide_dtype(hidden_LTH))
            for group in groups
        ]
        pieces = piece.cut(tokens, max(sum(sizes[k] for k in group) for group in groups))
        steps = []
        for rows in pieces:
            pooled_MRH = apply_mixes(mixes_ML, hidden_LTH[:, rows])
            for group, bottleneck, out in zip(groups, bottlenecks, out_TX, strict=True):
                x_RH = pooled_MRH[mixes.of_head[group[0]]]
                before_RN = bottleneck.forward(x_RH, masks_of(masks, group, rows), out[rows])
                if learning:
                    steps.append(before_RN)
        ctx.hidden_LTH, ctx.masks, ctx.mixes, ctx.mixes_ML = hidden_LTH, masks, mixes, mixes_ML
        ctx.groups, ctx.bottlenecks, ctx.pieces, ctx.steps = groups, bottlenecks, pieces, steps
        return tuple(part(out_TX, groups, outputs))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads_TC: Tensor) -> Any:
        learned = ctx.mixes.learned
        gradients = [each.zero(StemGradient.zero(each.stem)) for each in ctx.bottlenecks]
        grads_TX = join(grads_TC, ctx.groups)
        groups = list(zip(ctx.groups, ctx.bottlenecks, gradients, grads_TX, strict=True))
        grads_ML = torch.zeros_like(ctx.mixes_ML)
        for rows in reversed(ctx.pieces):
            hidden_LRH = ctx.hidden_LTH[:, rows]
            pooled_MRH = apply_mixes(ctx.mixes_ML, hidden_LRH)
            grads_MRH = torch.zeros_like(pooled_MRH) if learned else None
            for group, bottleneck, into, grad_TX in reversed(groups):
                mix = ctx.mixes.of_head[group[0]]
                masks_RA = masks_of(ctx.masks, group, rows)
                grad_RN = bottleneck.backward(pooled_MRH[mix], ctx.steps.pop(), masks_RA, grad_TX[rows], into)
                if grads_MRH is not None and mix in learned:
                    grad_RN = grad_RN.to(grads_MRH.dtype)
                    grads_MRH[mix] = product(grad_RN, bottleneck.stem.weight_NH.t())
            if grads_MRH is not None:
                grads_ML += grads_MRH.flatten(1) @ hidden_LRH.reshape(len(hidden_LRH), -1).t()
        of_groups = map(_of_heads, ctx.bottlenecks, gradients)
        of_heads = chain.from_iterable(in_order(ctx.groups, of_groups))
        return None, None, None, None, grads_ML if learned else None, *of_heads


def _bottleneck(heads: Sequence[Sequence[Tensor]]) -> Bottleneck:
    stem = Stem.of([down_HA for down_HA, _, _ in heads], [bias_A for _, bias_A, _ in heads])
    return Bottleneck(stem=stem, dense=dense_of([dense_AC for _, _, dense_AC in heads]))


def _of_heads(bottleneck: Bottleneck, gradient: Gradient) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """down_HA, bias_A and dense_AC of each head."""
    stem = gradient.stem.of_heads(bottleneck.dense.sizes)
    for (down_HA, bias_A), dense_AC in zip(stem, bottleneck.dense.of_heads(gradient.dense), strict=True):
        yield down_HA, bias_A, dense_AC
