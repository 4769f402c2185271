"""What is compiled for a CPU: as exact as torch's own, and every head by itself."""

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest
import torch
from numba import types
from torch import Tensor
from torch.nn import functional

from bv_search.cpu import loops
from bv_search.cpu.dense import CompiledDense
from bv_search.heads.branches.dense import Dense, TorchDense
from bv_search.heads.config import AdapterHead, HeadShape, PooledAdapterHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

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


@pytest.mark.parametrize("kind", [CompiledDense, TorchDense])
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


@pytest.mark.parametrize("kind", [CompiledDense, TorchDense])
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


def test_how_rows_are_cut_changes_no_bit() -> None:
    before_RN, masks = some(ROWS, FEATURES), some_masks()
    whole, cut = (found_by(CompiledDense(some_dense()), before_RN, masks, pieces) for pieces in (1, 5))
    torch.testing.assert_close(cut, whole, atol=0.0, rtol=0.0)


def test_gelu_is_exact_over_all_numbers() -> None:
    before = torch.cat([torch.linspace(-20, 20, 100_001), torch.tensor([0.0, 1e30, -1e30, 1e-30])])
    features, slopes = np.empty(len(before), np.float32), np.empty(len(before), np.float32)
    loops._gelu_and_slope(before.numpy(), features, slopes)
    exact = before.double().requires_grad_()
    functional.gelu(exact).sum().backward()  # type: ignore[no-untyped-call]

    torch.testing.assert_close(
        torch.from_numpy(features).double(), functional.gelu(exact), atol=1e-6, rtol=1e-6
    )
    torch.testing.assert_close(torch.from_numpy(slopes).double(), exact.grad, atol=1e-6, rtol=1e-6)


def test_it_is_compiled_once_with_dropout_and_once_without() -> None:
    """Each way that arrays lie in memory is compiled anew, for seconds: so they all lie alike."""
    shape = HeadShape(layers=2, width=6, outputs=2, per_token=True)
    for configs in (
        [AdapterHead(size=3)],
        [AdapterHead(size=3), AdapterHead(size=4), PooledAdapterHead(size=3)],
    ):
        for rate in (0.0, 0.5):
            heads = [Head(config, shape).initialise(0) for config in configs]
            for head in heads:
                head.use_dropout(rate, seed=0)
            sum(
                out.sum() for out in Pack(heads)({None: some(2, 7, 6)}, torch.tensor([3, 4]), step=1)
            ).backward()  # type: ignore[union-attr]
    arrays = [
        a
        for f in (loops.read_out, loops.learn)
        for s in f.signatures
        for a in s
        if isinstance(a, types.Array)
    ]
    assert {array.layout for array in arrays} == {"C"}


def test_where_nothing_can_be_kept_it_is_compiled_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(function: Any, *, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("no locator available")
        return numba.njit(function, **options)

    monkeypatch.setattr(loops, "njit", nowhere)
    assert loops.compiled(lambda x: x + 1)(2) == 3
