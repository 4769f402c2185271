"""What all branches share: first weights, dropout, and turns taken."""

import torch
from torch import Generator, Tensor

from bv_search.heads.branches import Pooled, WidthCnn, Windows
from bv_search.heads.branches.branch import glorot
from bv_search.heads.branches.dropout import Dropout
from bv_search.heads.config import CnnHead, HeadShape

SHAPE = HeadShape(layers=3, width=8, outputs=2, per_token=True)
LENGTHS_N = torch.tensor([2, 4])


def some(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(0))


def test_first_weights_fill_the_range_that_their_layer_allows() -> None:
    weight = torch.empty(300, 100)
    glorot(weight, Generator().manual_seed(0), fan_in=300, fan_out=100)
    limit = (6 / 400) ** 0.5
    assert 0.99 * limit < float(weight.abs().max()) <= limit
    assert abs(float(weight.mean())) < 0.01 * limit
    again = torch.empty(300, 100)
    glorot(again, Generator().manual_seed(0), fan_in=300, fan_out=100)
    assert torch.equal(again, weight)


def test_features_are_dropped_in_training_alone() -> None:
    branch, features_TF = Pooled(3, 8, 2, learned=True), some(6, 8)
    learning, scoring = Windows(lengths_N=LENGTHS_N, step=3), Windows(lengths_N=LENGTHS_N)
    assert branch.drop(features_TF, learning) is features_TF
    assert branch.mask((6, 8), learning) is None
    branch.dropout = Dropout(rate=0.5, seed=1, branch=0)
    assert branch.drop(features_TF, scoring) is features_TF
    assert branch.mask((6, 8), scoring) is None
    mask_TF = branch.mask((6, 8), learning)
    assert mask_TF is not None
    assert torch.equal(branch.drop(features_TF, learning), features_TF * mask_TF)
    assert not torch.equal(branch.drop(features_TF, learning, part=1), features_TF * mask_TF)


def test_branches_that_take_turns_are_the_same_to_the_last_bit_alone() -> None:
    branches = [WidthCnn(CnnHead(channels=n, kernel=3, depth=1), SHAPE) for n in (2, 5)]
    for number, branch in enumerate(branches):
        branch.initialise(Generator().manual_seed(number))
    hidden_LTH, windows = some(3, 6, 8), Windows(lengths_N=LENGTHS_N)
    together = WidthCnn.fused(branches, hidden_LTH, windows)
    for branch, out_TC in zip(branches, together, strict=True):
        assert torch.equal(out_TC, branch.plain(hidden_LTH, windows))


def test_work_is_a_multiplication_for_each_weight() -> None:
    assert Pooled(3, 8, 2, learned=True).work() == 8 * 2 + 3 + 1
    assert Pooled(3, 8, 2, learned=False).work() == 8 * 2
