"""Adapters on every layer, against the same sums written out."""

import pytest
import torch
from torch import Tensor

from bv_search.heads.config import AdapterHead, HeadShape
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

SPAN = HeadShape(layers=4, width=8, outputs=2, per_token=True)


def some_windows(*lengths: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, sum(lengths), 8, generator=generator), torch.tensor(lengths)


@pytest.mark.parametrize("shared", [True, False])
def test_an_adapter_head_is_a_dense_layer_on_flattened_features_and_the_last_channel(shared: bool) -> None:
    hidden_LTH, lengths_N = some_windows(3, 5)
    head = Head(AdapterHead(size=3, shared=shared, skip=True), SPAN).initialise(0)
    weights = dict(head.named_parameters())
    adapter, skip = (f"branches.{n}." for n in range(2))

    layers = []
    for layer in range(4):
        down = weights[adapter + "down_HA"] if shared else weights[adapter + "down_LHA"][layer]
        layers.append(torch.nn.functional.gelu(hidden_LTH[layer] @ down))
    features = torch.cat([*layers, hidden_LTH[-1]], dim=1)
    dense = torch.cat([weights[adapter + "dense_LAC"].flatten(0, 1), weights[skip + "dense_HC"]])

    torch.testing.assert_close(Pack([head])({None: hidden_LTH}, lengths_N)[0], features @ dense + head.bias_C)
