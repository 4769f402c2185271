"""gelu and the dense layers behind it, compiled and by torch: as autograd says, and every head by itself."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bv_search.cpu.dense import CompiledDense
from bv_search.heads.branches.dense import FEW_OUTPUTS, Dense, DenseApart, TorchDense, dense_of

KINDS = [CompiledDense, TorchDense, DenseApart]
ROWS, SIZES, OUTPUTS = 37, [5, 16, 1, 20], 3
FEATURES = sum(SIZES)
LOST = slice(5, 21)  # the features of the second head

Found = dict[str, Tensor | list[Tensor]]


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def some_dense() -> list[Tensor]:
    return [some(size, OUTPUTS, seed=size) for size in SIZES]


def some_masks() -> list[Tensor | None]:
    masks: list[Tensor | None] = [some(ROWS, size, seed=9).gt(0.0).float() for size in SIZES]
    masks[0] = None
    return masks


def found_by(dense: Dense, before_RN: Tensor, masks_RA: list[Tensor | None], pieces: int = 1) -> Found:
    """Outputs and gradients, the rows in so many pieces."""
    grad_RX = some(ROWS, OUTPUTS * len(SIZES), seed=1)
    out_RX, bias_N, gradient = torch.zeros_like(grad_RX), torch.zeros(FEATURES), dense.zero()
    grads = []
    for rows in torch.arange(ROWS).chunk(pieces):
        part = slice(int(rows[0]), int(rows[-1]) + 1)
        masks = [mask if mask is None else mask[part] for mask in masks_RA]
        dense.read_out(before_RN[part], masks, out_RX[part])
        grads.append(dense.learn(before_RN[part], masks, grad_RX[part], bias_N=bias_N, dense=gradient))
    return {"out": out_RX, "before": torch.cat(grads), "bias": bias_N, "dense": dense.of_heads(gradient)}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masks", [[None] * len(SIZES), some_masks()], ids=["all features", "dropout"])
def test_it_is_what_autograd_says(kind: Callable[[list[Tensor]], Dense], masks: list[Tensor | None]) -> None:
    before_RN = some(ROWS, FEATURES).requires_grad_()
    dense_AC = [each.requires_grad_() for each in some_dense()]
    features = torch.split(functional.gelu(before_RN), SIZES, dim=1)
    kept = [f if mask is None else f * mask for f, mask in zip(features, masks, strict=True)]
    out_RX = torch.cat([f @ dense for f, dense in zip(kept, dense_AC, strict=True)], dim=1)
    torch.autograd.backward(out_RX, some(ROWS, OUTPUTS * len(SIZES), seed=1))
    assert before_RN.grad is not None
    expected = {
        "out": out_RX,
        "before": before_RN.grad,
        "bias": before_RN.grad.sum(dim=0),
        "dense": [each.grad for each in dense_AC],
    }

    with torch.no_grad():
        found = found_by(kind(some_dense()), before_RN.detach(), masks)

    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_what_is_no_number_stays_with_its_head(kind: Callable[[list[Tensor]], Dense], value: float) -> None:
    sound, broken = some(ROWS, FEATURES), some(ROWS, FEATURES)
    broken[:, LOST] = value
    masks: list[Tensor | None] = [None] * len(SIZES)
    expected, found = (found_by(kind(some_dense()), before, masks) for before in (sound, broken))

    for each in (expected, found):
        for name in ("before", "bias"):
            each[name][..., LOST] = 0.0  # type: ignore[call-overload]
        each["out"][:, OUTPUTS : 2 * OUTPUTS] = 0.0  # type: ignore[call-overload]
        each["dense"][1] = torch.zeros(1)
    torch.testing.assert_close(found, expected)


def test_heads_of_many_outputs_have_a_product_each() -> None:
    few, many = ([some(4, outputs)] * 2 for outputs in (FEW_OUTPUTS, FEW_OUTPUTS + 1))
    assert isinstance(dense_of(few), CompiledDense)
    assert isinstance(dense_of(many), DenseApart)
