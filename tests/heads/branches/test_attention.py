"""Learned queries pool a window's tokens; a dense layer reads what all of them found."""

import pytest
import torch
from torch import Tensor

from bv_search.heads.config import AttentionHead, HeadConfig, HeadShape, PoolingHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

LAYERS, WIDTH = 4, 6
CLASSES = HeadShape(layers=LAYERS, width=WIDTH, outputs=3, per_token=False)
LENGTHS = [3, 40, 1, 33]
CONFIGS = [
    AttentionHead(),
    AttentionHead(pooling="average"),
    AttentionHead(queries=3),
    AttentionHead(queries=3, position_bias=True),
    AttentionHead(pooling="average", position_bias=True),
    AttentionHead(queries=3, position_bias=True),
]


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def some_windows() -> tuple[Tensor, Tensor]:
    return some(LAYERS, sum(LENGTHS), WIDTH), torch.tensor(LENGTHS)


def some_heads(*more: HeadConfig) -> list[Head]:
    """None of their weights is neutral."""
    heads = [Head(config, CLASSES).initialise(n) for n, config in enumerate([*CONFIGS, *more])]
    for n, head in enumerate(heads):
        for parameter in head.parameters():
            parameter.data += some(*parameter.shape, seed=n)
    return heads


def by_hand(head: Head, hidden_LTH: Tensor, mask_NMH: Tensor | None = None) -> Tensor:
    w = {name.removeprefix("branches.0."): tensor for name, tensor in head.named_parameters()}
    mix_L = torch.full((LAYERS,), 1 / LAYERS)
    if "mix.logits_L" in w:
        mix_L = w["mix.logits_L"].softmax(dim=0) * w["mix.scale"]
    answers = []
    for number, window_LSH in enumerate(torch.split(hidden_LTH, LENGTHS, dim=1)):
        mixed_SH = torch.einsum("l,lsh->sh", mix_L, window_LSH)
        scores_SM = mixed_SH @ w["query_MH"].t()
        if "bias_PM" in w:
            scores_SM = scores_SM + torch.stack([w["bias_PM"][min(s, 32)] for s in range(len(mixed_SH))])
        pooled_MH = scores_SM.softmax(dim=0).t() @ mixed_SH
        if mask_NMH is not None:
            pooled_MH = pooled_MH * mask_NMH[number]
        answers.append(pooled_MH.flatten() @ w["dense_MHC"].flatten(0, 1) + w["bias_C"])
    return torch.stack(answers)


def gradients(head: Head, out_NC: Tensor) -> list[Tensor]:
    parameters = list(head.parameters())
    return list(torch.autograd.grad(out_NC, parameters, some(*out_NC.shape, seed=9), retain_graph=True))


def test_outputs_and_gradients_are_those_of_the_plain_formula() -> None:
    hidden_LTH, lengths_N = some_windows()
    heads = some_heads(PoolingHead(), PoolingHead(readout="mean"))
    found = Pack(heads)({None: hidden_LTH}, lengths_N)
    for head, out_NC in zip(heads[: len(CONFIGS)], found, strict=False):
        expected_NC = by_hand(head, hidden_LTH)
        torch.testing.assert_close(out_NC, expected_NC)
        found_gradients, expected = gradients(head, out_NC), gradients(head, expected_NC)
        torch.testing.assert_close(found_gradients, expected, atol=1e-4, rtol=1e-4)


def test_dropout_masks_what_the_queries_found() -> None:
    hidden_LTH, lengths_N = some_windows()
    heads = some_heads()
    for n, head in enumerate(heads):
        head.use_dropout(0.5, seed=n)
    for head, out_NC in zip(heads, Pack(heads)({None: hidden_LTH}, lengths_N, step=3), strict=True):
        (branch,) = head.typed_branches()
        assert branch.dropout is not None
        assert isinstance(head.config, AttentionHead)
        of_windows = len(LENGTHS), head.config.queries, WIDTH
        expected_NC = by_hand(head, hidden_LTH, branch.dropout.mask(of_windows, torch.device("cpu"), 3))
        torch.testing.assert_close(out_NC, expected_NC)
        found_gradients, expected = gradients(head, out_NC), gradients(head, expected_NC)
        torch.testing.assert_close(found_gradients, expected, atol=1e-4, rtol=1e-4)


def test_it_starts_as_the_mean_of_the_tokens() -> None:
    hidden_LTH, lengths_N = some_windows()
    attention = Head(AttentionHead(position_bias=True), CLASSES).initialise(0)
    mean = Head(PoolingHead(readout="mean"), CLASSES).initialise(0)
    of_attention, of_mean = Pack([attention, mean])({None: hidden_LTH}, lengths_N)
    torch.testing.assert_close(of_attention, of_mean)


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_a_diverged_head_leaves_the_others_as_they_are(dropout: float) -> None:
    (hidden_LTH, lengths_N), heads = some_windows(), some_heads(*CONFIGS)
    for n, head in enumerate(heads):
        head.use_dropout(dropout, seed=n)
    sound = heads[: len(CONFIGS)]

    def run() -> tuple[list[Tensor], list[list[Tensor]]]:
        outputs = Pack(heads)({None: hidden_LTH}, lengths_N, step=0)[: len(sound)]
        return outputs, [gradients(head, out_NC) for head, out_NC in zip(sound, outputs, strict=True)]

    before = run()
    for head in heads[len(CONFIGS) :]:
        for parameter in head.parameters():
            torch.nn.init.constant_(parameter, float("nan"))
    torch.testing.assert_close(run(), before)
