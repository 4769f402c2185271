"""One hidden layer on all channels of a token."""

import torch
from torch import Tensor
from torch.nn import functional

from bv_search.heads.config import HeadConfig, HeadShape, MlpHead, PoolingHead
from bv_search.heads.head import Head
from bv_search.heads.inputs import States
from bv_search.heads.pack import Pack

LAYERS, WIDTH, TOKENS = 4, 6, 8
SPANS = HeadShape(layers=LAYERS, width=WIDTH, outputs=2, per_token=True)


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def by_hand(head: Head, hidden_LTH: Tensor) -> Tensor:
    w = {name.removeprefix("branches.0."): tensor for name, tensor in head.named_parameters()}
    before_TA = hidden_LTH.transpose(0, 1).flatten(1) @ w["down_LHA"].flatten(0, 1) + w["bias_A"]
    return functional.gelu(before_TA) @ w["dense_AC"] + w["bias_C"]


def gradients(heads: list[Head], outputs: list[Tensor]) -> list[Tensor]:
    parameters = [parameter for head in heads for parameter in head.parameters()]
    return list(
        torch.autograd.grad(outputs, parameters, [some(TOKENS, 2, seed=n) for n in range(len(heads))])
    )


def test_outputs_and_gradients_are_those_of_the_plain_formula() -> None:
    hidden_LTH, configs = some(LAYERS, TOKENS, WIDTH), [MlpHead(size=size) for size in (3, 7, 3)]
    heads = [Head(config, SPANS).initialise(n) for n, config in enumerate(configs)]
    for n, head in enumerate(heads):
        for parameter in head.parameters():
            parameter.data += some(*parameter.shape, seed=n)  # biases that are not zero
    expected = [by_hand(head, hidden_LTH) for head in heads]
    found = Pack(heads)({None: hidden_LTH}, torch.tensor([3, 5]))

    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradients(heads, found), gradients(heads, expected), atol=1e-4, rtol=1e-4)


def test_dropout_masks_the_hidden_layer() -> None:
    """Of one feature, an answer is zero or twice what it was."""
    configs: list[HeadConfig] = [MlpHead(size=1), PoolingHead()]
    heads = [Head(config, SPANS).initialise(n) for n, config in enumerate(configs)]
    batch: tuple[States, Tensor] = {None: some(LAYERS, 40, WIDTH)}, torch.tensor([40])
    whole_TC = Pack(heads)(*batch)[0]
    heads[0].use_dropout(0.5, 1)
    dropped_TC = Pack(heads)(*batch, step=0)[0]

    is_left_T = dropped_TC[:, 0] != 0
    assert 5 < int(is_left_T.sum()) < 35
    torch.testing.assert_close(dropped_TC, 2 * whole_TC * is_left_T[:, None])
