"""Padded windows are what windows back to back are, whatever stands in their padding."""

import pytest
import torch
from torch import Generator, Tensor

from bv_search.heads.branches import Windows
from bv_search.heads.branches.convolution import Convolution
from bv_search.heads.branches.padded import PaddedWindows

LENGTHS_N, LONGEST = torch.tensor([3, 1, 6, 2]), 8
INSIDE_NS = torch.arange(LONGEST) < LENGTHS_N[:, None]
INSIDE_T = INSIDE_NS.flatten()


@pytest.fixture
def both() -> tuple[Windows, PaddedWindows]:
    return Windows(lengths_N=LENGTHS_N), PaddedWindows.of(INSIDE_NS)


def some_numbers() -> tuple[Tensor, Tensor]:
    """Back to back, and padded with what must not be heard."""
    x_TF = torch.randn(int(LENGTHS_N.sum()), 4, generator=Generator().manual_seed(0)) - 5.0
    padded_TF = torch.full((len(INSIDE_T), 4), float("nan"))
    padded_TF[INSIDE_T] = x_TF
    return x_TF, padded_TF


def test_tokens_are_counted_with_their_padding(both: tuple[Windows, PaddedWindows]) -> None:
    plain, padded = both
    assert padded.lengths_N.tolist() == plain.lengths_N.tolist()
    assert padded.firsts_N.tolist() == [0, 8, 16, 24]
    assert padded.lasts_N.tolist() == [2, 8, 21, 25]
    for name in ("owners_T", "positions_T"):
        assert torch.equal(getattr(padded, name)[INSIDE_T], getattr(plain, name))


def test_sums_maxima_and_softmaxes_leave_padding_out(both: tuple[Windows, PaddedWindows]) -> None:
    (plain, padded), (x_TF, padded_TF) = both, some_numbers()
    torch.testing.assert_close(padded.sums(padded_TF), plain.sums(x_TF))
    torch.testing.assert_close(padded.maxima(padded_TF), plain.maxima(x_TF))
    torch.testing.assert_close(padded.softmax(padded_TF)[INSIDE_T], plain.softmax(x_TF))


@pytest.mark.parametrize("stride", [1, 2])
def test_convolutions_are_those_of_windows_back_to_back(
    both: tuple[Windows, PaddedWindows], stride: int
) -> None:
    x_TF, padded_TF = some_numbers()
    convolution = Convolution(4, 3, 3, stride=stride)
    convolution.initialise(Generator().manual_seed(1))
    found = []
    for windows, numbers_TF in zip(both, (x_TF, padded_TF), strict=True):
        strip = windows.strip(reach=1, stride=stride)
        cleared = strip.clear(convolution(strip.lay(numbers_TF)), stride=stride)
        found.append(strip.take(cleared, stride=stride))
    torch.testing.assert_close(found[1][INSIDE_T], found[0])


@pytest.mark.parametrize("stride", [1, 2])
def test_what_a_convolution_says_of_padding_can_be_cleared(
    both: tuple[Windows, PaddedWindows], stride: int
) -> None:
    strip, shortened_NFP = both[1].strip(reach=1, stride=stride), torch.zeros(4, 2, LONGEST // stride)
    filled_NFP = strip.clear(shortened_NFP, stride=stride, value=float("-inf"))
    assert torch.equal(filled_NFP.isfinite()[:, 0], INSIDE_NS[:, ::stride])
