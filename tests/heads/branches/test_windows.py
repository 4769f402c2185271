"""What is said of windows, where their tokens stand back to back."""

import pytest
import torch
from torch import Tensor

from bv_search.heads.branches import Windows

LENGTHS = [3, 1, 6, 2]


@pytest.fixture
def windows() -> Windows:
    return Windows(lengths_N=torch.tensor(LENGTHS))


def some_numbers() -> Tensor:
    return torch.randn(sum(LENGTHS), 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def test_each_window_has_its_sums_and_maxima(windows: Windows) -> None:
    x_TF = some_numbers() - 5.0  # below the zeros that padding might be
    apart = torch.split(x_TF, LENGTHS)
    torch.testing.assert_close(windows.sums(x_TF), torch.stack([each.sum(dim=0) for each in apart]))
    assert torch.equal(windows.maxima(x_TF), torch.stack([each.amax(dim=0) for each in apart]))


def test_a_softmax_is_one_over_each_window(windows: Windows) -> None:
    x_TF = 100 * some_numbers()
    apart = torch.split(x_TF, LENGTHS)
    torch.testing.assert_close(windows.softmax(x_TF), torch.cat([each.softmax(dim=0) for each in apart]))


def test_they_learn_as_autograd_says(windows: Windows) -> None:
    x_TF = some_numbers().requires_grad_()
    assert torch.autograd.gradcheck(windows.softmax, x_TF)
    assert torch.autograd.gradcheck(windows.maxima, x_TF)
    assert torch.autograd.gradcheck(windows.pad, x_TF)
    assert torch.equal(windows.unpad(windows.pad(x_TF)), x_TF)


def test_the_first_and_the_last_tokens_are_known(windows: Windows) -> None:
    assert windows.firsts_N.tolist() == [0, 3, 4, 10]
    assert windows.lasts_N.tolist() == [2, 3, 9, 11]


def test_padding_is_what_it_is_told_to_be(windows: Windows) -> None:
    padded_SNF = windows.pad(some_numbers(), value=7.0)
    assert padded_SNF.shape == (6, 4, 4)
    assert int((padded_SNF == 7.0).sum()) == (6 * 4 - sum(LENGTHS)) * 4
