"""All columns are read in one product a layer, and each as if it were alone."""

import pytest
import torch
from torch import Tensor

from bv_search.heads.branches import columns as of_columns
from bv_search.heads.branches.columns import Columns, read_out
from bv_search.heads.config import AdapterHead, HeadShape, PoolingHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

LAYERS, TOKENS, WIDTH = 3, 7, 5


def some(*shape: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=torch.float64)


def some_columns(added: int, *apart: int, seed: int) -> Columns:
    """`apart` are layers."""
    return Columns(
        added_LHX=some(LAYERS, WIDTH, added, seed=seed).requires_grad_() if added else None,
        apart_HX={layer: some(WIDTH, 2, seed=seed + layer).requires_grad_() for layer in apart},
    )


MIXED = [
    some_columns(3, seed=10),
    some_columns(0, 1, seed=20),
    some_columns(0, seed=30),
    some_columns(2, 0, 1, 2, seed=40),
]
ONLY_APART = [some_columns(0, 2, seed=50)]


@pytest.mark.parametrize("onednn", [True, False])
@pytest.mark.parametrize("columns", [MIXED, ONLY_APART, [some_columns(0, seed=60)]])
def test_numbers_are_added_up_over_the_layers_or_stay_apart(
    monkeypatch: pytest.MonkeyPatch, columns: list[Columns], onednn: bool
) -> None:
    monkeypatch.setattr("bv_search.cpu.product.ONEDNN", onednn)
    hidden_LTH = some(LAYERS, TOKENS, WIDTH)
    for each, numbers in zip(columns, read_out(hidden_LTH, columns), strict=True):
        added_LHX = hidden_LTH.new_zeros(LAYERS, WIDTH, 0) if each.added_LHX is None else each.added_LHX
        torch.testing.assert_close(numbers.added_TX, (hidden_LTH @ added_LHX).sum(dim=0))
        assert set(numbers.apart_TX) == set(each.apart_HX)
        for layer, apart_HX in each.apart_HX.items():
            torch.testing.assert_close(numbers.apart_TX[layer], hidden_LTH[layer] @ apart_HX)


def test_columns_learn_as_autograd_says() -> None:
    hidden_LTH = some(LAYERS, TOKENS, WIDTH)

    def read(added_LHX: Tensor, apart_HX: Tensor, more_HX: Tensor) -> list[Tensor]:
        columns = [Columns(added_LHX=added_LHX), Columns(apart_HX={2: apart_HX, 0: more_HX})]
        first, second = read_out(hidden_LTH, columns)
        return [first.added_TX, *second.apart_TX.values()]

    dense = some(LAYERS, WIDTH, 4), some(WIDTH, 2, seed=1), some(WIDTH, 3, seed=2)
    assert torch.autograd.gradcheck(read, tuple(each.requires_grad_() for each in dense))


def test_kinds_share_the_product_with_each_layer(monkeypatch: pytest.MonkeyPatch) -> None:
    shape = HeadShape(layers=LAYERS, width=WIDTH, outputs=2, per_token=True)
    configs = [PoolingHead(), PoolingHead(pooling="average"), AdapterHead(size=3, skip=True)]
    pack = Pack([Head(config, shape).initialise(n) for n, config in enumerate(configs * 2)])
    widths = []

    def counted(x_TH: Tensor, weight_XH: Tensor) -> Tensor:
        widths.append(len(weight_XH))
        return x_TH @ weight_XH.t()

    monkeypatch.setattr(of_columns, "product", counted)
    pack({None: torch.zeros(LAYERS, TOKENS, WIDTH)}, torch.tensor([TOKENS]))
    assert widths == [4 * 2, 4 * 2, 4 * 2 + 2 * 2], "the last layer is also what adapters skip to"
