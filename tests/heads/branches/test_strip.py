"""One convolution over many windows is a convolution over each."""

import pytest
import torch
from torch.nn import functional

from bv_search.heads.branches.convolution import Convolution
from bv_search.heads.branches.strip import Strip

LENGTHS = [3, 1, 8, 2, 5]


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5, 6, 7])
def test_each_window_is_convolved_as_if_alone(kernel: int) -> None:
    x_TF = torch.randn(sum(LENGTHS), 4)
    convolution = Convolution(4, 6, kernel).requires_grad_(False)
    convolution.initialise(torch.Generator().manual_seed(0))
    strip = Strip.lay_out(torch.tensor(LENGTHS), reach=kernel // 2)

    together = strip.take(convolution(strip.lay(x_TF)))

    left, right = (kernel - 1) // 2, kernel // 2
    alone = [
        functional.conv1d(functional.pad(x_SF.T[None], (left, right)), convolution.weight_OIk)[0].T
        for x_SF in torch.split(x_TF, LENGTHS)
    ]
    torch.testing.assert_close(together, torch.cat(alone))


@pytest.mark.parametrize("stride", [2, 4, 8])
def test_a_shortened_strip_holds_each_window_shortened(stride: int) -> None:
    """Places come back to the tokens that they stand for: the first of each `stride`."""
    numbers_T1 = torch.arange(1.0, sum(LENGTHS) + 1)[:, None]
    strip = Strip.lay_out(torch.tensor(LENGTHS), reach=2, stride=stride)

    shortened = strip.clear(strip.lay(numbers_T1)[:, :, ::stride], stride=stride)

    expected = [x[(torch.arange(len(x)) // stride) * stride] for x in torch.split(numbers_T1, LENGTHS)]
    assert torch.equal(strip.take(shortened, stride=stride), torch.cat(expected))
    assert int((shortened != 0).sum()) == sum(-(-length // stride) for length in LENGTHS)


def test_gaps_can_be_filled() -> None:
    strip = Strip.lay_out(torch.tensor(LENGTHS), reach=1)

    filled = strip.clear(strip.lay(torch.zeros(sum(LENGTHS), 2)), value=float("-inf"))

    assert int(filled.isfinite().sum()) == 2 * sum(LENGTHS)
    assert strip.take(filled).isfinite().all()
