"""An adapter on a mix of the layers, then the dense layer.

Heads with plain means share one mix, and stand side by side on it; every learned mix has its head alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Self

import torch
from torch import Generator, Tensor, nn
from torch.autograd.function import once_differentiable

from bv_search.heads.branches.adapted_mix import AdaptedMix
from bv_search.heads.branches.bottleneck import PIECE, Bottleneck, Masks, Stem, side_by_side
from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.mix import Mix
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
        mixes, mix_of = _distinct([branch.mix for branch in branches])
        mixes_ML = torch.stack([mix.weights_L().to(hidden_LTH.device) for mix in mixes])
        weights = [tensor for b in branches for tensor in (b.down_HA, b.bias_A, b.dense_AC)]
        learning = torch.is_grad_enabled()
        outputs = _OnMixes.apply(hidden_LTH, masks, learning, mix_of, mixes_ML, *weights)  # type: ignore[no-untyped-call]
        return list(outputs)


def _distinct(mixes: Sequence[Mix]) -> tuple[list[Mix], list[int]]:
    """Every mix once, and which of them is each head's."""
    found: dict[object, int] = {}
    distinct: list[Mix] = []
    numbers: list[int] = []
    for mix in mixes:
        key = mix if mix.logits_L is not None else "plain mean"
        if key not in found:
            found[key] = len(distinct)
            distinct.append(mix)
        numbers.append(found[key])
    return distinct, numbers


class _OnMixes(torch.autograd.Function):
    """hidden_LTH, masks, whether it learns, each head's mix, mixes_ML, then three tensors a head → out_TC."""

    @staticmethod
    def forward(
        ctx: Any,
        hidden_LTH: Tensor,
        masks: Masks,
        learning: bool,
        mix_of: Sequence[int],
        mixes_ML: Tensor,
        *weights: Tensor,
    ) -> Any:
        heads = [weights[n : n + 3] for n in range(0, len(weights), 3)]
        layers, tokens, width = hidden_LTH.shape
        rows = _rows((layers + len(mixes_ML)) * width, hidden_LTH.device)
        groups = list(_groups(heads, mix_of, rows, hidden_LTH.device))
        bottlenecks = [_bottleneck([heads[k] for k in group]) for group in groups]
        outputs = [hidden_LTH.new_empty(tokens, dense.shape[1]) for _, _, dense in heads]
        steps = []
        for start in range(0, tokens, rows):
            piece = slice(start, start + rows)
            pooled_MRH = _mixed(mixes_ML, hidden_LTH[:, piece])
            for group, bottleneck in zip(groups, bottlenecks, strict=True):
                x_RH = pooled_MRH[mix_of[group[0]]]
                before_RN, found = bottleneck.forward(x_RH, _of_piece(masks, group, piece))
                for k, out_RC in zip(group, found, strict=True):
                    outputs[k][piece] = out_RC
                if learning:
                    steps.append(before_RN)
        ctx.hidden_LTH, ctx.masks, ctx.mix_of, ctx.mixes_ML = hidden_LTH, masks, mix_of, mixes_ML
        ctx.rows, ctx.groups, ctx.bottlenecks, ctx.steps = rows, groups, bottlenecks, steps
        ctx.shapes = [tensor.shape for tensor in weights]
        return tuple(outputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads_TC: Tensor) -> Any:
        hidden_LTH, learned = ctx.hidden_LTH, ctx.needs_input_grad[4]
        grads = [hidden_LTH.new_zeros(shape) for shape in ctx.shapes]
        grads_ML = torch.zeros_like(ctx.mixes_ML)
        steps = iter(ctx.steps)
        for start in range(0, hidden_LTH.shape[1], ctx.rows):
            piece = slice(start, start + ctx.rows)
            hidden_LRH = hidden_LTH[:, piece]
            pooled_MRH = _mixed(ctx.mixes_ML, hidden_LRH)
            grads_MRH = torch.zeros_like(pooled_MRH) if learned else pooled_MRH
            for group, bottleneck in zip(ctx.groups, ctx.bottlenecks, strict=True):
                mix = ctx.mix_of[group[0]]
                masks = _of_piece(ctx.masks, group, piece)
                outs = [grads_TC[k][piece] for k in group]
                found = bottleneck.backward(pooled_MRH[mix], next(steps), masks, outs)
                for k, tensors in zip(group, found.of_heads(), strict=True):
                    torch._foreach_add_(grads[3 * k : 3 * k + 3], list(tensors))
                if learned:
                    grads_MRH[mix] += product(found.before_RN, bottleneck.stem.weight_NH.t())
            if learned:
                grads_ML += grads_MRH.flatten(1) @ hidden_LRH.reshape(len(hidden_LRH), -1).t()
        return None, None, None, None, grads_ML if learned else None, *grads


def _rows(numbers: int, device: torch.device) -> int:
    """Tokens of a piece, each of which has so many numbers."""
    return max(LEAST_ROWS, 2 * PIECE.get(device.type, PIECE["cuda"]) // numbers)


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


def _mixed(mixes_ML: Tensor, hidden_LRH: Tensor) -> Tensor:
    layers, rows, width = hidden_LRH.shape
    return (mixes_ML @ hidden_LRH.reshape(layers, rows * width)).view(len(mixes_ML), rows, width)


def _of_piece(masks: Masks, group: Sequence[int], piece: slice) -> Masks:
    return [None if (mask_TA := masks[k]) is None else mask_TA[piece] for k in group]
