"""Convolutions keep their places, or shorten them by a stride."""

from math import ceil

import pytest
import torch
from torch import Generator, Tensor, nn

from bv_search.heads.branches.convolution import Convolution, Separable, initialise_parts
from bv_search.heads.branches.norm import BatchNorm


def some(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(0))


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_padded_places_stay_or_are_shortened_by_the_stride(kernel: int, stride: int, dilation: int) -> None:
    convolution = Convolution(2, 3, kernel, stride=stride, dilation=dilation)
    for places in (1, 4, 7, 12):
        assert convolution(torch.zeros(5, 2, places)).shape == (5, 3, ceil(places / stride))


def test_an_even_kernel_looks_one_place_further_to_the_right() -> None:
    convolution = Convolution(1, 1, 2).requires_grad_(False)
    convolution.weight_OIk.copy_(torch.tensor([[[10.0, 1.0]]]))
    assert convolution(torch.tensor([[[1.0, 2.0, 3.0]]])).tolist() == [[[12.0, 23.0, 30.0]]]


def test_without_padding_the_ends_are_lost() -> None:
    convolution = Convolution(1, 1, 3, padded=False, bias=False).requires_grad_(False)
    convolution.weight_OIk.fill_(1.0)
    assert convolution(torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])).tolist() == [[[6.0, 9.0]]]


def test_a_separable_one_hears_neighbours_feature_by_feature_then_mixes_features() -> None:
    convolution, x_NIP = Separable(4, 6), some(2, 4, 9)
    convolution.initialise(Generator().manual_seed(1))
    near_NIPk = nn.functional.pad(x_NIP, (1, 1)).unfold(2, 3, 1)
    alone_NIP = torch.einsum("nipk,ik->nip", near_NIPk, convolution.depthwise_I1k[:, 0])
    expected_NOP = torch.einsum("nip,oi->nop", alone_NIP, convolution.pointwise_OI1[..., 0])
    torch.testing.assert_close(convolution(x_NIP), expected_NOP)


def test_all_parts_inside_begin_anew_and_in_their_order() -> None:
    def parts() -> nn.Sequential:
        made = nn.Sequential(Convolution(2, 3, 3), nn.Sequential(BatchNorm(3), Separable(3, 4)))
        for tensor in made.state_dict().values():
            tensor.fill_(7.0)
        initialise_parts(made, Generator().manual_seed(0))
        return made

    first, second = parts().state_dict(), parts().state_dict()
    assert all(torch.equal(tensor, second[name]) for name, tensor in first.items())
    assert not any((tensor == 7.0).any() for tensor in first.values())
    assert not first["0.bias_O"].any()
    assert not first["1.0.mean_F"].any()
    assert first["1.0.variance_F"].tolist() == [1.0, 1.0, 1.0]
