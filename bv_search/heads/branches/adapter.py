"""Adapters on every layer: H → A with gelu, then the dense layer on all L·A features.

The dense layer is one matrix per layer, (L, A, C), summed over layers: the same numbers as on the
flattened features, without moving them.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Generator, Tensor, nn
from torch.autograd.function import once_differentiable

from bv_search.heads.branches.bottleneck import Bottleneck, Masks, Stem, join, masks_of, part, side_by_side
from bv_search.heads.branches.branch import Branch, glorot
from bv_search.heads.branches.product import turned
from bv_search.heads.branches.windows import Windows


class _Adapter(Branch):
    """What both adapters share: the dense layer after the bottleneck."""

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
        sizes = [dense_LAC.shape[1] for _, _, dense_LAC in heads]
        groups = side_by_side(range(len(heads)), sizes, hidden_LTH.shape[1], hidden_LTH.device)
        stems = [_stems([heads[k] for k in group]) for group in groups]
        counts = [dense_LAC.shape[2] for _, _, dense_LAC in heads]
        outputs = [hidden_LTH.new_zeros(hidden_LTH.shape[1], sum(counts[k] for k in g)) for g in groups]
        steps = []
        for layer, x_TH in enumerate(hidden_LTH):
            for group, of_layers, out_TX in zip(groups, stems, outputs, strict=True):
                stem = of_layers[layer % len(of_layers)]
                bottleneck = Bottleneck(stem=stem, dense_AC=[heads[k][2][layer] for k in group])
                before_TN, found_TX = bottleneck.forward(x_TH, masks_of(masks, group, layer))
                out_TX.add_(found_TX)
                if learning:
                    steps.append((bottleneck, before_TN))
        ctx.hidden_LTH, ctx.masks, ctx.groups, ctx.steps = hidden_LTH, masks, groups, steps
        ctx.shapes = [tensor.shape for tensor in weights]
        return tuple(part(outputs, groups, counts))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads_TC: Tensor) -> Any:
        hidden_LTH = ctx.hidden_LTH
        grads = [hidden_LTH.new_zeros(shape) for shape in ctx.shapes]
        grads_TX = join(grads_TC, ctx.groups)
        for layer in reversed(range(len(hidden_LTH))):
            x_TH = turned(hidden_LTH[layer]) if len(ctx.groups) > 1 else hidden_LTH[layer]
            for group, grad_TX in zip(reversed(ctx.groups), reversed(grads_TX), strict=True):
                bottleneck, before_TN = ctx.steps.pop()
                masks = masks_of(ctx.masks, group, layer)
                found = bottleneck.backward(x_TH, before_TN, masks, grad_TX)
                for k, (down_HA, bias_A, dense_AC) in zip(group, found.of_heads(), strict=True):
                    down_LHA, bias_LA, dense_LAC = grads[3 * k : 3 * k + 3]
                    down_LHA[layer % len(down_LHA)] += down_HA
                    bias_LA[layer % len(bias_LA)] += bias_A
                    dense_LAC[layer] = dense_AC
        return None, None, None, *grads


def _stems(heads: Sequence[Sequence[Tensor]]) -> list[Stem]:
    """Side by side, of each layer, or one of all."""
    return [
        Stem.of([down_LHA[layer] for down_LHA, _, _ in heads], [bias_LA[layer] for _, bias_LA, _ in heads])
        for layer in range(len(heads[0][0]))
    ]
