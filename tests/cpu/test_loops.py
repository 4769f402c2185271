"""What is compiled for a CPU is as exact as torch's own."""

from typing import Any

import numba
import numpy as np
import pytest
import torch
from numba import types
from torch import Tensor
from torch.nn import functional

from bv_search.cpu import loops
from bv_search.heads.config import AdapterHead, HeadShape, PooledAdapterHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


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
