"""Weights that mix the layers."""

import torch
from torch import Generator, Tensor

from bv_search.heads.branches.mix import Mix, Mixes, apply_mixes, mix_dense, mix_layers, stack_mixes

LAYERS, TOKENS, WIDTH = 4, 6, 5


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=Generator().manual_seed(seed))


def learned(seed: int) -> Mix:
    mix = Mix(LAYERS, learned=True)
    for parameter in mix.parameters():
        parameter.data = some(*parameter.shape, seed=seed)
    return mix


def test_a_learned_mix_starts_as_the_plain_mean() -> None:
    mix, plain = learned(0), Mix(LAYERS, learned=False)
    assert not torch.allclose(mix.weights_L(), plain.weights_L())
    mix.initialise()
    torch.testing.assert_close(mix.weights_L(), plain.weights_L())
    assert not list(plain.parameters())


def test_its_weights_are_shares_of_its_scale() -> None:
    mix = learned(0)
    assert mix.scale is not None
    assert mix.logits_L is not None
    torch.testing.assert_close(mix.weights_L().sum(), mix.scale[0])
    assert mix.weights_L().abs().argmax() == mix.logits_L.argmax()


def test_several_mixes_are_each_the_sum_of_their_layers() -> None:
    hidden_LTH, mixes = some(LAYERS, TOKENS, WIDTH), [learned(1), Mix(LAYERS, learned=False), learned(2)]
    pooled_KTH = mix_layers(mixes, hidden_LTH)
    for mix, pooled_TH in zip(mixes, pooled_KTH, strict=True):
        torch.testing.assert_close(pooled_TH, torch.einsum("l,lth->th", mix.weights_L(), hidden_LTH))


def test_a_dense_layer_on_a_mix_is_one_on_the_layers() -> None:
    hidden_LTH, mixes = some(LAYERS, TOKENS, WIDTH), [learned(1), learned(2)]
    dense_KHX = some(2, WIDTH, 3, seed=3)
    on_layers_TX = (hidden_LTH @ mix_dense(mixes, dense_KHX)).sum(dim=0)
    expected = [mix_layers([mix], hidden_LTH)[0] @ dense for mix, dense in zip(mixes, dense_KHX, strict=True)]
    torch.testing.assert_close(on_layers_TX, torch.cat(expected, dim=1))


def test_plain_means_are_one_mix_and_learned_ones_each_their_own() -> None:
    first, second = learned(1), learned(2)
    mixes = Mixes.of([Mix(LAYERS, learned=False), first, Mix(LAYERS, learned=False), second])
    assert mixes.of_head == [0, 1, 0, 2]
    assert list(mixes.heads()) == [[0, 2], [1], [3]]
    assert mixes.learned == {1, 2}
    assert mixes.distinct[1:] == [first, second]


def test_states_of_16_bits_are_mixed_in_16() -> None:
    hidden_LTH = some(LAYERS, TOKENS, WIDTH).bfloat16()
    pooled_KTH = apply_mixes(stack_mixes([learned(1)], hidden_LTH), hidden_LTH)
    assert pooled_KTH.dtype == torch.bfloat16
    exact_KTH = mix_layers([learned(1)], hidden_LTH.float())
    torch.testing.assert_close(pooled_KTH.float(), exact_KTH, rtol=0.02, atol=0.02)
