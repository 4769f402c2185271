"""Chunks change what is held in memory, and nothing else."""

import pytest
import torch
from torch import Tensor

from bv_search.heads.branches import chunks
from bv_search.heads.config import CnnHead, HeadConfig, HeadShape, LinearHead, NgramHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

SHAPE = HeadShape(layers=4, width=12, outputs=2, per_token=True)


@pytest.mark.parametrize(
    "config",
    [CnnHead(channels=3, kernel=3, depth=2), NgramHead(size=6, filters=2, longest=3, along="features")],
    ids=lambda config: config.name,
)
def test_a_head_in_chunks_is_the_same_head(config: HeadConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden_LTH, lengths_N = torch.randn(4, 50, 12), torch.tensor([20, 30])

    def trained() -> tuple[Tensor, list[Tensor]]:
        head = Head(config, SHAPE).initialise(0)
        (out_TC,) = Pack([head])({None: hidden_LTH}, lengths_N, step=0)
        torch.autograd.backward(out_TC.square().sum())
        return out_TC, [p.grad for p in head.parameters() if p.grad is not None]

    whole, gradients = trained()
    monkeypatch.setattr(chunks, "NUMBERS", 1000)
    in_chunks, their_gradients = trained()

    torch.testing.assert_close(in_chunks, whole)
    assert len(their_gradients) == len(gradients) == len(list(Head(config, SHAPE).parameters()))
    for theirs, ours in zip(their_gradients, gradients, strict=True):
        torch.testing.assert_close(theirs, ours, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("config", "dense"),
    [(CnnHead(channels=3, kernel=3, depth=2), "dense_FC"), (LinearHead(), "dense_LHC")],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else value,
)
def test_backward_makes_each_chunk_anew_with_the_same_dropout(
    config: HeadConfig, dense: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The gradient of the dense layer is the dropped features themselves, summed: outputs tell them."""
    monkeypatch.setattr(chunks, "NUMBERS", 1000)
    head = Head(config, SHAPE).initialise(0)
    head.use_dropout(0.5, 1)
    (out_TC,) = Pack([head])({None: torch.randn(4, 50, 12)}, torch.tensor([50]), step=0)
    torch.autograd.backward(out_TC.sum())
    (branch,) = head.typed_branches()
    weights = dict(branch.named_parameters())[dense]

    assert weights.grad is not None
    torch.testing.assert_close((weights.grad * weights).sum(), (out_TC - head.bias_C).sum())


@pytest.mark.parametrize("config", [CnnHead(channels=3, kernel=3, depth=2), LinearHead()])
def test_each_chunk_has_a_mask_of_its_own(config: HeadConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "NUMBERS", 1)  # a token each
    head = Head(config, SHAPE).initialise(0)
    head.use_dropout(0.5, 1)
    (out_TC,) = Pack([head])({None: torch.ones(4, 5, 12)}, torch.tensor([5]), step=0)

    assert len(set(out_TC[:, 0].tolist())) == 5


def test_memory_is_planned_by_one_chunk_at_most() -> None:
    assert chunks.kept(10, 100) == 1000
    assert chunks.kept(10**6, 10**6) == chunks.NUMBERS
