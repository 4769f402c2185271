"""An adapter on a mix of the layers, against the same sums written out."""

from collections.abc import Sequence

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional

from bv_search.heads.branches import PooledAdapter, Windows
from bv_search.heads.branches.dropout import Dropout

LAYERS, TOKENS, WIDTH = 3, 9, 6
LEARNED = (True, False, True, False)


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed))


@pytest.fixture
def branches() -> list[PooledAdapter]:
    """None of their weights is neutral."""
    made = [PooledAdapter(LAYERS, WIDTH, 2 + n, 2, learned=learned) for n, learned in enumerate(LEARNED)]
    for number, branch in enumerate(made):
        for parameter in branch.parameters():
            parameter.data = some(*parameter.shape, seed=number)
    return made


def windows(step: int | None = None) -> Windows:
    return Windows(lengths_N=torch.tensor([4, 5]), step=step)


def gradients(branches: Sequence[PooledAdapter], outputs: Sequence[Tensor]) -> list[Tensor]:
    parameters = [parameter for branch in branches for parameter in branch.parameters()]
    losses = torch.stack([(out * some(TOKENS, 2, seed=5)).sum() for out in outputs])
    return list(torch.autograd.grad(losses.sum(), parameters))


def test_those_on_one_mix_and_on_their_own_are_each_what_they_are_alone(
    branches: list[PooledAdapter],
) -> None:
    hidden_LTH = some(LAYERS, TOKENS, WIDTH, seed=7)
    found = PooledAdapter.fused(branches, hidden_LTH, windows())
    expected = [branch.plain(hidden_LTH, windows()) for branch in branches]
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(
        gradients(branches, found), gradients(branches, expected), rtol=1e-4, atol=1e-5
    )


def test_dropout_masks_the_features_of_its_own_branch(branches: list[PooledAdapter]) -> None:
    hidden_LTH = some(LAYERS, TOKENS, WIDTH, seed=7)
    dropped, whole = branches[0], branches[1]
    dropped.dropout = Dropout(rate=0.5, seed=3, branch=0)
    found = PooledAdapter.fused(branches[:2], hidden_LTH, windows(step=4))
    mixed_TH = torch.einsum("l,lth->th", dropped.mix.weights_L(), hidden_LTH)
    features_TA = functional.gelu(mixed_TH @ dropped.down_HA + dropped.bias_A)
    mask_TA = dropped.dropout.mask((TOKENS, 2), torch.device("cpu"), 4)
    torch.testing.assert_close(found[0], (features_TA * mask_TA) @ dropped.dense_AC)
    torch.testing.assert_close(found[1], whole.plain(hidden_LTH, windows()))
    scored = PooledAdapter.fused(branches[:2], hidden_LTH, windows())
    torch.testing.assert_close(scored[0], features_TA @ dropped.dense_AC)
