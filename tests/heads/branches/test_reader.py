"""Branches that read few numbers of a token share one product, and each answers as if alone."""

import pytest
import torch
from torch import Generator, Tensor

from bv_search.heads.branches import (
    AllChannels,
    Attention,
    Channel,
    GatedPooled,
    Mlp,
    Pooled,
    SharedAdapter,
    Windows,
)
from bv_search.heads.branches.dropout import Dropout
from bv_search.heads.branches.reader import Reader
from bv_search.heads.config import AttentionHead, HeadShape

LAYERS, WIDTH, OUTPUTS = 3, 6, 2
SHAPE = HeadShape(layers=LAYERS, width=WIDTH, outputs=OUTPUTS, per_token=False)


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed))


@pytest.fixture
def readers() -> list[Reader]:
    """Kinds in turn, so that those of a kind do not stand together."""
    kinds: list[Reader] = []
    for _ in range(2):
        kinds += [
            Pooled(LAYERS, WIDTH, OUTPUTS, learned=True),
            Channel(1, WIDTH, OUTPUTS),
            Attention(AttentionHead(queries=2), SHAPE),
            AllChannels(LAYERS, WIDTH, OUTPUTS),
            GatedPooled(LAYERS, WIDTH, OUTPUTS),
            Channel(0, WIDTH, OUTPUTS),
            Mlp(LAYERS, WIDTH, 4, OUTPUTS),
        ]
    for number, reader in enumerate(kinds):
        for parameter in reader.parameters():
            parameter.data = some(*parameter.shape, seed=number)
    return kinds


def windows(step: int | None = None) -> Windows:
    return Windows(lengths_N=torch.tensor([2, 5]), step=step)


def test_answers_come_in_the_order_of_the_branches(readers: list[Reader]) -> None:
    hidden_LTH = some(LAYERS, 7, WIDTH, seed=99)
    for reader, out_TC in zip(readers, Reader.fused(readers, hidden_LTH, windows()), strict=True):
        torch.testing.assert_close(out_TC, reader.plain(hidden_LTH, windows()))


@pytest.mark.parametrize("step", [None, 3])
def test_those_that_drop_features_stand_beside_those_that_do_not(
    readers: list[Reader], step: int | None
) -> None:
    hidden_LTH = some(LAYERS, 7, WIDTH, seed=99)
    for number, reader in enumerate(readers[:7]):
        reader.dropout = Dropout(rate=0.5, seed=number, branch=0)
    together = Reader.fused(readers, hidden_LTH, windows(step))
    for reader, out_TC in zip(readers, together, strict=True):
        (alone_TC,) = Reader.fused([reader], hidden_LTH, windows(step))
        torch.testing.assert_close(out_TC, alone_TC)
    drops = [
        not torch.allclose(out_TC, reader.plain(hidden_LTH, windows()))
        for reader, out_TC in zip(readers, together, strict=True)
    ]
    assert drops == [step is not None] * 7 + [False] * 7


def test_all_readers_run_as_one_and_no_other_kind_with_them(readers: list[Reader]) -> None:
    assert len({reader.fuse_key for reader in readers}) == 1
    assert SharedAdapter(LAYERS, WIDTH, 2, OUTPUTS).fuse_key not in {reader.fuse_key for reader in readers}


def test_channels_are_stacked_by_their_number_and_by_their_dropout() -> None:
    first, again, other = (Channel(n, WIDTH, OUTPUTS) for n in (1, 1, 0))
    assert first.stack_key == again.stack_key != other.stack_key
    again.dropout = Dropout(rate=0.5, seed=0, branch=0)
    assert first.stack_key != again.stack_key
