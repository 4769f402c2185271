"""One wide product with each layer, for all branches that need few numbers of it.

By itself each would wait for memory; side by side they read the hidden states once.

X columns: numbers that come of a token.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from bv_search.heads.branches.product import gradient, product, wide_dtype


@dataclass(frozen=True, kw_only=True, eq=False)
class Columns:
    """What a token's layers are multiplied with."""

    added_LHX: Tensor | None = None  # what comes of the layers is added up
    apart_HX: Mapping[int, Tensor] = field(default_factory=dict)  # by layer; what comes of it stays apart

    @property
    def added(self) -> int:
        return 0 if self.added_LHX is None else self.added_LHX.shape[2]


@dataclass(frozen=True, kw_only=True, eq=False)
class Numbers:
    """What came of some columns."""

    added_TX: Tensor
    apart_TX: Mapping[int, Tensor]


def read_out(hidden_LTH: Tensor, columns: Sequence[Columns]) -> list[Numbers]:
    """With a gradient for the columns alone: hidden states are given."""
    layers, _, width = hidden_LTH.shape
    added = [each.added_LHX for each in columns if each.added_LHX is not None]
    added_LHX = (
        _side_by_side(added)
        if added
        else hidden_LTH.new_zeros(layers, width, 0, dtype=wide_dtype(hidden_LTH))
    )
    apart_HX = _apart(columns, layers)
    added_TX, *apart_TX = _ReadOut.apply(hidden_LTH, added_LHX, list(apart_HX), *apart_HX.values())  # type: ignore[no-untyped-call]
    parts_TX = torch.split(added_TX, [each.added for each in columns], dim=1)
    of_layers = _part(columns, dict(zip(apart_HX, apart_TX, strict=True)))
    pairs = zip(parts_TX, of_layers, strict=True)
    return [Numbers(added_TX=part_TX, apart_TX=of_layer) for part_TX, of_layer in pairs]


def read_plainly(hidden_LTH: Tensor, columns: Columns) -> Numbers:
    """The same of some columns alone."""
    added_LHX, tokens = columns.added_LHX, hidden_LTH.shape[1]
    if added_LHX is None:
        added_TX = hidden_LTH.new_zeros(tokens, 0)
    else:
        added_TX = hidden_LTH.transpose(0, 1).flatten(1) @ added_LHX.flatten(0, 1)
    apart_TX = {layer: hidden_LTH[layer] @ each_HX for layer, each_HX in columns.apart_HX.items()}
    return Numbers(added_TX=added_TX, apart_TX=apart_TX)


def _side_by_side(parts: list[Tensor]) -> Tensor:
    return torch.cat(parts, dim=-1) if len(parts) > 1 else parts[0]


def _apart(columns: Sequence[Columns], layers: int) -> dict[int, Tensor]:
    """Of each layer that has any, all columns that stay apart."""
    found = {}
    for layer in range(layers):
        if parts := [each.apart_HX[layer] for each in columns if layer in each.apart_HX]:
            found[layer] = _side_by_side(parts)
    return found


def _part(columns: Sequence[Columns], apart_TX: Mapping[int, Tensor]) -> list[dict[int, Tensor]]:
    """Of each of the columns, what came of its own."""
    found: list[dict[int, Tensor]] = [{} for _ in columns]
    for layer, whole_TX in apart_TX.items():
        owners = [n for n, each in enumerate(columns) if layer in each.apart_HX]
        widths = [columns[n].apart_HX[layer].shape[1] for n in owners]
        for n, part_TX in zip(owners, torch.split(whole_TX, widths, dim=1), strict=True):
            found[n][layer] = part_TX
    return found


class _ReadOut(torch.autograd.Function):
    """hidden_LTH, added_LHX, which layers have columns that stay apart, and those of each.

    Gives what is added up, and of each such layer what stays apart.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden_LTH: Tensor, added_LHX: Tensor, layers: Sequence[int], *apart_HX: Tensor
    ) -> Any:
        ctx.save_for_backward(hidden_LTH)
        ctx.layers, ctx.added = layers, added_LHX.shape[2]
        if ctx.added and (wide_TF := _wide(hidden_LTH)) is not None:
            added_TX = product(wide_TF, added_LHX.flatten(0, 1).t())
            found = [_product(hidden_LTH[n], each_HX) for n, each_HX in zip(layers, apart_HX, strict=True)]
            return added_TX, *found
        added_TX = added_LHX.new_zeros(hidden_LTH.shape[1], ctx.added)
        apart = dict(zip(layers, apart_HX, strict=True))
        apart_TX = []
        for layer in range(len(hidden_LTH)) if ctx.added else layers:
            parts_HX = [added_LHX[layer], apart[layer]] if layer in apart else [added_LHX[layer]]
            out_TX = product(hidden_LTH[layer], _side_by_side(parts_HX).contiguous().t())
            added_TX += out_TX[:, : ctx.added]
            if layer in apart:
                apart_TX.append(out_TX[:, ctx.added :].clone())
        return added_TX, *apart_TX

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TX: Tensor, *grads_TX: Tensor) -> Any:
        (hidden_LTH,) = ctx.saved_tensors
        layers, _, width = hidden_LTH.shape
        if ctx.added and (wide_TF := _wide(hidden_LTH)) is not None:
            added_FX = gradient(wide_TF, grad_TX)
            found = [
                gradient(hidden_LTH[n].contiguous(), each_TX)
                for n, each_TX in zip(ctx.layers, grads_TX, strict=True)
            ]
            return None, added_FX.reshape(layers, width, ctx.added), None, *found
        apart = dict(zip(ctx.layers, grads_TX, strict=True))
        added_LHX = grad_TX.new_zeros(layers, width, ctx.added)
        apart_HX = []
        for layer in range(layers) if ctx.added else ctx.layers:
            whole_TX = _side_by_side([grad_TX, apart[layer]] if layer in apart else [grad_TX]).contiguous()
            grad_HX = gradient(hidden_LTH[layer].contiguous(), whole_TX)
            added_LHX[layer] = grad_HX[:, : ctx.added]
            if layer in apart:
                apart_HX.append(grad_HX[:, ctx.added :])
        return None, added_LHX, None, *apart_HX


def _wide(hidden_LTH: Tensor) -> Tensor | None:
    """All channels of a token side by side, where they stand so in memory: one product instead of many."""
    hidden_TLH = hidden_LTH.transpose(0, 1)
    return hidden_TLH.flatten(1) if hidden_TLH.is_contiguous() else None


def _product(x_TF: Tensor, dense_FX: Tensor) -> Tensor:
    return product(x_TF.contiguous(), dense_FX.contiguous().t())
