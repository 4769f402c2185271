"""Adapters on every layer: H → A with gelu, then the dense layer on all L·A features.

The dense layer is one matrix per layer, (L, A, C), summed over layers: the same numbers as on the
flattened features, without moving them.
"""

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, Self

import torch
from torch import Generator, Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional

from bv_search.cpu.product import turned
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
from bv_search.heads.branches.branch import Branch, glorot
from bv_search.heads.branches.dense import Masks, dense_of
from bv_search.heads.branches.product import wide_dtype
from bv_search.heads.branches.windows import Windows


class _Adapter(Branch):
    """What both adapters share: the dense layer after the bottleneck."""

    takes_narrow = True

    def __init__(self, layers: int, size: int, outputs: int) -> None:
        super().__init__()
        self.size = size
        self.dense_LAC = nn.Parameter(torch.empty(layers, size, outputs))

    def kept(self, tokens: int) -> int:
        layers, size, _ = self.dense_LAC.shape
        return tokens * layers * size * (2 if self.dropout else 1)

    def _initialise_dense(self, generator: Generator) -> None:
        layers, size, outputs = self.dense_LAC.shape
        glorot(self.dense_LAC, generator, fan_in=layers * size, fan_out=outputs)

    def plain(self, hidden_LTH: Tensor, windows: Windows) -> Tensor:
        down_LHA, bias_LA = self.stem()
        features_LTA = functional.gelu(hidden_LTH @ down_LHA + bias_LA[:, None])
        return (features_LTA @ self.dense_LAC).sum(dim=0)

    @abstractmethod
    def stem(self) -> tuple[Tensor, Tensor]:
        """down_LHA and bias_LA: of each layer, or one of all."""

    @classmethod
    def fused(cls, branches: Sequence[Self], hidden_LTH: Tensor, windows: Windows) -> list[Tensor]:
        layers, tokens, _ = hidden_LTH.shape
        masks = [b.mask((layers, tokens, b.size), windows) for b in branches]
        weights = [tensor for b in branches for tensor in (*b.stem(), b.dense_LAC)]
        learning = torch.is_grad_enabled()
        return list(_OnLayers.apply(hidden_LTH, masks, learning, *weights))  # type: ignore[no-untyped-call]


class SharedAdapter(_Adapter):
    """One bottleneck for all layers."""

    def __init__(self, layers: int, width: int, size: int, outputs: int) -> None:
        super().__init__(layers, size, outputs)
        self.down_HA = nn.Parameter(torch.empty(width, size))
        self.bias_A = nn.Parameter(torch.zeros(size))

    def initialise(self, generator: Generator) -> None:
        glorot(self.down_HA, generator, fan_in=self.down_HA.shape[0], fan_out=self.size)
        nn.init.zeros_(self.bias_A)
        self._initialise_dense(generator)

    def work(self) -> int:
        return len(self.dense_LAC) * self.down_HA.numel() + self.dense_LAC.numel()

    def stem(self) -> tuple[Tensor, Tensor]:
        return self.down_HA[None], self.bias_A[None]


class LayerAdapters(_Adapter):
    """A bottleneck for each layer."""

    def __init__(self, layers: int, width: int, size: int, outputs: int) -> None:
        super().__init__(layers, size, outputs)
        self.down_LHA = nn.Parameter(torch.empty(layers, width, size))
        self.bias_L1A = nn.Parameter(torch.zeros(layers, 1, size))

    def initialise(self, generator: Generator) -> None:
        glorot(self.down_LHA, generator, fan_in=self.down_LHA.shape[1], fan_out=self.size)
        nn.init.zeros_(self.bias_L1A)
        self._initialise_dense(generator)

    def stem(self) -> tuple[Tensor, Tensor]:
        return self.down_LHA, self.bias_L1A[:, 0]


class _OnLayers(torch.autograd.Function):
    """hidden_LTH, masks, whether it learns, then three tensors a head → out_TC of each head."""

    @staticmethod
    def forward(ctx: Any, hidden_LTH: Tensor, masks: Masks, learning: bool, *weights: Tensor) -> Any:
        heads = [weights[n : n + 3] for n in range(0, len(weights), 3)]
        outputs, sizes = heads[0][2].shape[2], [dense_LAC.shape[1] for _, _, dense_LAC in heads]
        tokens, piece = hidden_LTH.shape[1], piece_on(hidden_LTH.device)
        groups = piece.groups(range(len(heads)), sizes, tokens)
        bottlenecks = [_bottlenecks([heads[k] for k in group]) for group in groups]
        out_TX = [
            hidden_LTH.new_zeros(tokens, outputs * len(group), dtype=wide_dtype(hidden_LTH))
            for group in groups
        ]
        pieces = piece.cut(tokens, max(sum(sizes[k] for k in group) for group in groups))
        steps = []
        for rows in pieces:
            for layer, x_RH in enumerate(hidden_LTH[:, rows]):
                for group, of_layers, out in zip(groups, bottlenecks, out_TX, strict=True):
                    masks_RA = masks_of(masks, group, (layer, rows))
                    before_RN = of_layers[layer].forward(x_RH, masks_RA, out[rows])
                    if learning:
                        steps.append(before_RN)
        ctx.hidden_LTH, ctx.masks, ctx.groups, ctx.bottlenecks = hidden_LTH, masks, groups, bottlenecks
        ctx.pieces, ctx.steps = pieces, steps
        return tuple(part(out_TX, groups, outputs))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads_TC: Tensor) -> Any:
        grads_TX = join(grads_TC, ctx.groups)
        gradients = [_gradients(of_layers) for of_layers in ctx.bottlenecks]
        groups = list(zip(ctx.groups, ctx.bottlenecks, gradients, grads_TX, strict=True))
        for rows in reversed(ctx.pieces):
            for layer in reversed(range(len(ctx.hidden_LTH))):
                x_RH = ctx.hidden_LTH[layer, rows]
                if len(groups) > 1:
                    x_RH = turned(x_RH)
                for group, bottlenecks, into, grad_TX in reversed(groups):
                    masks_RA = masks_of(ctx.masks, group, (layer, rows))
                    before_RN = ctx.steps.pop()
                    bottlenecks[layer].backward(x_RH, before_RN, masks_RA, grad_TX[rows], into[layer])
        of_groups = map(_of_heads, ctx.bottlenecks, gradients)
        of_heads = chain.from_iterable(in_order(ctx.groups, of_groups))
        return None, None, None, *of_heads


def _bottlenecks(heads: Sequence[Sequence[Tensor]]) -> list[Bottleneck]:
    """Of some heads side by side, on each layer; the stem is of each layer, or one of all."""
    stems = [
        Stem.of([down_LHA[layer] for down_LHA, _, _ in heads], [bias_LA[layer] for _, bias_LA, _ in heads])
        for layer in range(len(heads[0][0]))
    ]
    return [
        Bottleneck(
            stem=stems[layer % len(stems)], dense=dense_of([dense_LAC[layer] for _, _, dense_LAC in heads])
        )
        for layer in range(len(heads[0][2]))
    ]


def _gradients(bottlenecks: Sequence[Bottleneck]) -> list[Gradient]:
    of_stems = {each.stem: StemGradient.zero(each.stem) for each in bottlenecks}
    return [each.zero(of_stems[each.stem]) for each in bottlenecks]


def _of_heads(
    bottlenecks: Sequence[Bottleneck], gradients: Sequence[Gradient]
) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """down_LHA, bias_LA and dense_LAC of each head."""
    sizes = bottlenecks[0].dense.sizes
    stems = dict.fromkeys(each.stem for each in gradients)  # of each layer, or one
    of_stems = zip(*(stem.of_heads(sizes) for stem in stems), strict=True)
    of_dense = zip(
        *(b.dense.of_heads(g.dense) for b, g in zip(bottlenecks, gradients, strict=True)), strict=True
    )
    for stem, dense in zip(of_stems, of_dense, strict=True):
        down, bias = zip(*stem, strict=True)
        yield torch.stack(down), torch.stack(bias), torch.stack(dense)
