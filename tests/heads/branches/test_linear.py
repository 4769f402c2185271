"""A dense layer on a channel, or on all of them."""

import pytest
import torch
from torch import Tensor

from bv_search.heads.config import AdapterHead, HeadConfig, HeadShape, LinearHead, PoolingHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

LAYERS, WIDTH = 4, 6
SPANS = HeadShape(layers=LAYERS, width=WIDTH, outputs=2, per_token=True)
LENGTHS_N = torch.tensor([3, 5])


def some_states() -> Tensor:
    return torch.randn(LAYERS, 8, WIDTH, generator=torch.Generator().manual_seed(0))


def by_hand(head: Head, hidden_LTH: Tensor) -> Tensor:
    (dense,) = head.typed_branches()[0].parameters()
    channels = head.config.channels if isinstance(head.config, LinearHead) else None
    if channels == "all":
        return hidden_LTH.transpose(0, 1).flatten(1) @ dense.flatten(0, 1) + head.bias_C
    assert isinstance(channels, int)
    return hidden_LTH[channels] @ dense + head.bias_C


def test_each_is_a_dense_layer_whatever_stands_beside_it() -> None:
    hidden_LTH = some_states()
    configs: list[HeadConfig] = [LinearHead(channels=c) for c in ("all", 3, 0, "all", 3)]
    others: list[HeadConfig] = [PoolingHead(), AdapterHead(size=2, skip=True)]
    heads = [Head(config, SPANS).initialise(n) for n, config in enumerate(configs + others)]
    found = Pack(heads)({None: hidden_LTH}, LENGTHS_N)

    for head, out_TC in zip(heads[: len(configs)], found, strict=False):
        torch.testing.assert_close(out_TC, by_hand(head, hidden_LTH))


@pytest.mark.parametrize(
    ("config", "features"), [(LinearHead(), LAYERS * WIDTH), (LinearHead(channels=2), WIDTH)]
)
def test_dropout_masks_what_enters_the_dense_layer(config: HeadConfig, features: int) -> None:
    """Of features that are all one, what is left sums up to the weights that were not dropped, doubled."""
    head = Head(config, SPANS).initialise(0)
    head.use_dropout(0.5, 1)
    for parameter in head.typed_branches()[0].parameters():
        torch.nn.init.ones_(parameter)
    (out_TC,) = Pack([head])({None: torch.ones(LAYERS, 8, WIDTH)}, LENGTHS_N, step=0)

    kept = (out_TC[:, 0] / 2).tolist()
    assert all(number.is_integer() and 0 <= number <= features for number in kept)
    assert len(set(kept)) > 1, "each token has a mask of its own"
