"""A dense layer on a mix of the layers."""

import torch
from torch import Tensor

from bv_search.heads.config import HeadShape, PoolingHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

SPAN = HeadShape(layers=4, width=8, outputs=2, per_token=True)


def some_windows(*lengths: int) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, sum(lengths), 8, generator=generator), torch.tensor(lengths)


def test_a_pooling_head_is_a_dense_layer_on_the_mixed_layers() -> None:
    hidden_LTH, lengths_N = some_windows(3, 5)
    head = Head(PoolingHead(pooling="average"), SPAN).initialise(0)
    (branch,) = head.typed_branches()

    by_hand = hidden_LTH.mean(dim=0) @ dict(branch.named_parameters())["dense_HC"] + head.bias_C

    torch.testing.assert_close(Pack([head])({None: hidden_LTH}, lengths_N)[0], by_hand)
