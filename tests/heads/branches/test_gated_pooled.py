"""A mix of the layers with a gate before each, which opens and closes with the token."""

import torch
from torch import Tensor

from bv_search.heads.config import GatedPoolingHead, HeadConfig, HeadShape, PoolingHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

LAYERS, WIDTH, TOKENS = 4, 6, 8
SPANS = HeadShape(layers=LAYERS, width=WIDTH, outputs=2, per_token=True)
LENGTHS_N = torch.tensor([3, 5])


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def some_heads() -> list[Head]:
    """None of their weights is neutral."""
    configs: list[HeadConfig] = [GatedPoolingHead(), PoolingHead(), GatedPoolingHead()]
    heads = [Head(config, SPANS).initialise(n) for n, config in enumerate(configs)]
    for n, head in enumerate(heads):
        for parameter in head.parameters():
            parameter.data += some(*parameter.shape, seed=n)
    return heads


def pooled(head: Head, hidden_LTH: Tensor) -> Tensor:
    w = {name.removeprefix("branches.0."): tensor for name, tensor in head.named_parameters()}
    mix_L = w["mix.logits_L"].softmax(dim=0) * w["mix.scale"]
    pooled_TH = torch.zeros(TOKENS, WIDTH)
    for layer, hidden_TH in enumerate(hidden_LTH):
        gate_T = torch.sigmoid(hidden_TH @ w["gate_LH"][layer] + w["bias_L"][layer])
        pooled_TH = pooled_TH + mix_L[layer] * gate_T[:, None] * hidden_TH
    return pooled_TH


def dense(head: Head) -> Tensor:
    return dict(head.named_parameters())["branches.0.dense_HC"]


def gradients(head: Head, out_TC: Tensor) -> list[Tensor]:
    parameters = list(head.parameters())
    return list(torch.autograd.grad(out_TC, parameters, some(TOKENS, 2, seed=9), retain_graph=True))


def test_outputs_and_gradients_are_those_of_the_plain_formula() -> None:
    hidden_LTH, heads = some(LAYERS, TOKENS, WIDTH), some_heads()
    found = Pack(heads)({None: hidden_LTH}, LENGTHS_N)
    for n in (0, 2):
        expected_TC = pooled(heads[n], hidden_LTH) @ dense(heads[n]) + heads[n].bias_C
        torch.testing.assert_close(found[n], expected_TC)
        torch.testing.assert_close(gradients(heads[n], found[n]), gradients(heads[n], expected_TC))


def test_dropout_masks_the_mix_behind_the_gates() -> None:
    hidden_LTH, heads = some(LAYERS, TOKENS, WIDTH), some_heads()
    for n in (0, 2):
        heads[n].use_dropout(0.5, seed=n)
    found = Pack(heads)({None: hidden_LTH}, LENGTHS_N, step=3)
    for n in (0, 2):
        (branch,) = heads[n].typed_branches()
        assert branch.dropout is not None
        mask_TH = branch.dropout.mask((TOKENS, WIDTH), torch.device("cpu"), 3)
        expected_TC = (pooled(heads[n], hidden_LTH) * mask_TH) @ dense(heads[n]) + heads[n].bias_C
        torch.testing.assert_close(found[n], expected_TC)
        torch.testing.assert_close(gradients(heads[n], found[n]), gradients(heads[n], expected_TC))


def test_it_starts_as_half_the_plain_mean() -> None:
    hidden_LTH = some(LAYERS, TOKENS, WIDTH)
    head = Head(GatedPoolingHead(), SPANS).initialise(0)
    (out_TC,) = Pack([head])({None: hidden_LTH}, LENGTHS_N)
    torch.testing.assert_close(out_TC, hidden_LTH.mean(dim=0) @ dense(head) / 2)
