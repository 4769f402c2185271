"""Heads as one would write them in plain PyTorch."""

import pytest
import torch

from bv_search.bench.plain import PlainConfig, PlainHead
from bv_search.heads.config import AdapterHead, HeadShape, LinearHead, MlpHead, PoolingHead
from bv_search.heads.head import count_parameters


@pytest.mark.parametrize(
    "config",
    [
        LinearHead(),
        LinearHead(channels=1),
        MlpHead(size=3),
        PoolingHead(pooling="average"),
        AdapterHead(size=3, skip=True),
        AdapterHead(size=3, shared=False),
    ],
)
def test_heads_in_plain_pytorch_are_the_same_heads(config: PlainConfig) -> None:
    shape = HeadShape(layers=4, width=8, outputs=2, per_token=True)
    plain = PlainHead(config, shape)
    used = sum(parameter.numel() for name, parameter in plain.named_parameters() if name != "mix_L")
    assert used == count_parameters(config, shape)
    assert plain(torch.zeros(4, 5, 8)).shape == (5, 2)
