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

from bv_search.heads.branches.product import add_gradient, no_gradient, product


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
    dense_HX = _side_by_side(columns, len(hidden_LTH))
    widths = [each.added for each in columns]
    added_TX, *apart_TX = _ReadOut.apply(hidden_LTH, list(dense_HX), sum(widths), *dense_HX.values())  # type: ignore[no-untyped-call]
    apart = dict(zip(dense_HX, apart_TX, strict=True))
    parts = _part(columns, apart)
    return [
        Numbers(added_TX=part_TX, apart_TX=of_layers)
        for part_TX, of_layers in zip(torch.split(added_TX, widths, dim=1), parts, strict=True)
    ]


def _side_by_side(columns: Sequence[Columns], layers: int) -> dict[int, Tensor]:
    """Of each layer that is read, all columns: first those whose numbers are added up."""
    added = [each.added_LHX.unbind() for each in columns if each.added_LHX is not None]
    found = {}
    for layer in range(layers):
        parts = [of_layers[layer] for of_layers in added]
        parts += [each.apart_HX[layer] for each in columns if layer in each.apart_HX]
        if parts:
            found[layer] = torch.cat(parts, dim=1) if len(parts) > 1 else parts[0].contiguous()
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
    """hidden_LTH, which layers, how many of their columns are added up, a dense_HX of each layer.

    Gives what is added up, and of each layer what stays apart.
    """

    @staticmethod
    def forward(ctx: Any, hidden_LTH: Tensor, layers: Sequence[int], added: int, *dense_HX: Tensor) -> Any:
        ctx.save_for_backward(hidden_LTH)
        ctx.layers = layers
        if added and (wide_TF := _wide(hidden_LTH)) is not None:
            added_TX = product(wide_TF, torch.cat([each_HX[:, :added] for each_HX in dense_HX]).t())
            apart_HX = [each_HX[:, added:] for each_HX in dense_HX]
            return added_TX, *map(_apart, hidden_LTH, apart_HX)
        added_TX = hidden_LTH.new_zeros(hidden_LTH.shape[1], added)
        apart_TX = []
        for layer, each_HX in zip(layers, dense_HX, strict=True):
            out_TX = product(hidden_LTH[layer], each_HX.t())
            added_TX += out_TX[:, :added]
            apart_TX.append(out_TX[:, added:].clone())
        return added_TX, *apart_TX

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_TX: Tensor, *grads_TX: Tensor) -> Any:
        (hidden_LTH,) = ctx.saved_tensors
        if grad_TX.shape[1] and (wide_TF := _wide(hidden_LTH)) is not None:
            grad_FX = no_gradient((wide_TF.shape[1], grad_TX.shape[1]), grad_TX)
            add_gradient(grad_FX, wide_TF, grad_TX)
            added_HX = torch.split(grad_FX, hidden_LTH.shape[2])
            apart_HX = map(_apart_gradient, hidden_LTH, grads_TX)
            pairs = zip(added_HX, apart_HX, strict=True)
            return None, None, None, *(torch.cat(pair, dim=1) for pair in pairs)
        grads_HX = []
        for layer, apart_TX in zip(ctx.layers, grads_TX, strict=True):
            whole_TX = torch.cat([grad_TX, apart_TX], dim=1)
            grad_HX = no_gradient((hidden_LTH.shape[2], whole_TX.shape[1]), whole_TX)
            add_gradient(grad_HX, hidden_LTH[layer], whole_TX)
            grads_HX.append(grad_HX)
        return None, None, None, *grads_HX


def _wide(hidden_LTH: Tensor) -> Tensor | None:
    """All channels of a token side by side, where they stand so in memory: one product instead of many."""
    hidden_TLH = hidden_LTH.transpose(0, 1)
    return hidden_TLH.flatten(1) if hidden_TLH.is_contiguous() else None


def _apart(hidden_TH: Tensor, dense_HX: Tensor) -> Tensor:
    if not dense_HX.shape[1]:
        return hidden_TH.new_empty(len(hidden_TH), 0)
    return product(hidden_TH.contiguous(), dense_HX.t().contiguous())


def _apart_gradient(hidden_TH: Tensor, grad_TX: Tensor) -> Tensor:
    grad_HX = no_gradient((hidden_TH.shape[1], grad_TX.shape[1]), hidden_TH)
    if grad_TX.shape[1]:
        add_gradient(grad_HX, hidden_TH.contiguous(), grad_TX)
    return grad_HX
