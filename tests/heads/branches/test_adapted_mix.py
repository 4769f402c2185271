"""The stem of many heads: a mix of the layers, then an adapter."""

import pytest
import torch
from torch import Generator, Tensor
from torch.nn import functional

from bv_search.heads.branches import Windows
from bv_search.heads.branches.adapted_mix import OnAdapter

LAYERS, TOKENS, WIDTH, SIZE = 3, 7, 5, 4


class Features(OnAdapter):
    """The features themselves."""

    def read(self, features_TA: Tensor, windows: Windows) -> Tensor:
        return features_TA


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed))


@pytest.mark.parametrize("learned", [True, False])
def test_features_are_those_of_an_adapter_on_the_mix(learned: bool) -> None:
    stem = Features(LAYERS, WIDTH, SIZE, learned=learned)
    for number, parameter in enumerate(stem.parameters()):
        parameter.data = some(*parameter.shape, seed=number)
    hidden_LTH = some(LAYERS, TOKENS, WIDTH, seed=9)
    mixed_TH = torch.einsum("l,lth->th", stem.mix.weights_L(), hidden_LTH)
    expected_TA = functional.gelu(mixed_TH @ stem.down_HA + stem.bias_A)
    (found_TA,) = Features.fused([stem], hidden_LTH, Windows(lengths_N=torch.tensor([TOKENS])))
    torch.testing.assert_close(found_TA, expected_TA)


def test_it_starts_on_the_mean_of_the_layers_without_a_bias() -> None:
    stem = Features(LAYERS, WIDTH, SIZE, learned=True)
    for parameter in stem.parameters():
        parameter.data.fill_(7.0)
    stem.initialise(Generator().manual_seed(0))
    torch.testing.assert_close(stem.mix.weights_L(), torch.full((LAYERS,), 1 / LAYERS))
    assert not stem.bias_A.any()
    assert len(set(stem.down_HA.flatten().tolist())) == WIDTH * SIZE
