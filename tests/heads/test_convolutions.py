"""Convolutional heads against the same sums written out, window by window."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bv_search.heads.config import (
    CnnHead,
    FlatAdapterHead,
    HeadConfig,
    HeadShape,
    InceptionHead,
    NgramHead,
    XceptionModHead,
)
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack

SPANS = HeadShape(layers=4, width=12, outputs=2, per_token=True)
TOKENS = HeadShape(layers=4, width=12, outputs=3, per_token=False)
LENGTHS = [3, 9, 1, 6]


def some_windows() -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(0)
    return torch.randn(4, sum(LENGTHS), 12, generator=generator), torch.tensor(LENGTHS)


def weights_of(head: Head) -> dict[str, Tensor]:
    return {name.removeprefix("branches.0."): tensor.detach() for name, tensor in head.named_parameters()}


def test_a_width_cnn_convolves_along_the_width_with_layers_as_channels() -> None:
    hidden_LTH, lengths_N = some_windows()
    head = Head(CnnHead(channels=5, kernel=3, depth=2), SPANS).initialise(0)
    w = weights_of(head)

    x_TFW = functional.pad(hidden_LTH.transpose(0, 1), (1, 1)).unfold(2, 3, 4)  # 12 places become 3
    x_TFW = functional.gelu(torch.einsum("tlwk,olk->tow", x_TFW, w["convolutions.0.weight_OIk"]))
    x_TFW = functional.pad(x_TFW, (1, 1)).unfold(2, 3, 2)  # 3 become 2
    x_TFW = functional.gelu(torch.einsum("tiwk,oik->tow", x_TFW, w["convolutions.1.weight_OIk"]))

    found = Pack([head])({None: hidden_LTH}, lengths_N)[0]
    torch.testing.assert_close(found, x_TFW.flatten(1) @ w["dense_FC"] + head.bias_C)


def test_ngrams_are_sums_over_neighbouring_tokens_of_one_window() -> None:
    hidden_LTH, lengths_N = some_windows()
    head = Head(NgramHead(size=5, filters=2, longest=4), SPANS).initialise(0)
    w = weights_of(head)
    adapted_TA = functional.gelu(hidden_LTH.mean(dim=0) @ w["down_HA"])

    features = []
    for window_SA in torch.split(adapted_TA, LENGTHS):
        for token in range(len(window_SA)):
            found = []
            for n in range(1, 5):
                weight_OAn = w[f"convolutions.{n - 1}.weight_OIk"]
                places = [(k, token + k - (n - 1) // 2) for k in range(n)]
                terms = [weight_OAn[:, :, k] @ window_SA[p] for k, p in places if 0 <= p < len(window_SA)]
                found.append(torch.stack(terms).sum(dim=0))
            features.append(functional.gelu(torch.cat(found)))

    by_hand = torch.stack(features) @ w["dense_FC"] + head.bias_C
    torch.testing.assert_close(Pack([head])({None: hidden_LTH}, lengths_N)[0], by_hand)


def test_an_inception_looks_at_each_window_through_one_three_and_five_tokens() -> None:
    hidden_LTH, lengths_N = some_windows()
    head = Head(InceptionHead(size=5, channels=2), SPANS).initialise(0)
    w = weights_of(head)
    adapted_TA = functional.gelu(hidden_LTH.mean(dim=0) @ w["down_HA"])

    answers = []
    for window_SA in torch.split(adapted_TA, LENGTHS):
        x_1FS = window_SA.T[None]
        for block in ("blocks.0.", "blocks.1.", "blocks.2."):
            weight = {name: w[f"{block}{name}.weight_OIk"] for name in ("one", "to_three", "three")}
            weight |= {name: w[f"{block}{name}.weight_OIk"] for name in ("to_five", "five", "pooled")}
            three = functional.conv1d(x_1FS, weight["to_three"]).relu()
            five = functional.conv1d(x_1FS, weight["to_five"]).relu()
            found = [
                functional.conv1d(x_1FS, weight["one"]),
                functional.conv1d(three, weight["three"], padding=1),
                functional.conv1d(five, weight["five"], padding=2),
                functional.conv1d(functional.max_pool1d(x_1FS, 3, 1, 1), weight["pooled"]),
            ]
            x_1FS = torch.cat(found, dim=1).relu()
        answers.append(x_1FS[0].T @ w["dense_FC"])

    by_hand = torch.cat(answers) + head.bias_C
    torch.testing.assert_close(Pack([head])({None: hidden_LTH}, lengths_N)[0], by_hand)


def test_a_flattened_head_is_a_dense_layer_on_all_tokens_padded_with_nothing() -> None:
    hidden_LTH, lengths_N = some_windows()
    head = Head(FlatAdapterHead(size=2, tokens=10), TOKENS).initialise(0)
    w = weights_of(head)
    adapted_LTA = functional.gelu(hidden_LTH @ w["down_HA"])

    answers = []
    for window_LSA in torch.split(adapted_LTA, LENGTHS, dim=1):
        padded_PLA = functional.pad(window_LSA.transpose(0, 1), (0, 0, 0, 0, 0, 10 - window_LSA.shape[1]))
        answers.append(padded_PLA.flatten() @ w["dense_PLAC"].flatten(0, 2))

    found = Pack([head])({None: hidden_LTH}, lengths_N)[0]
    torch.testing.assert_close(found, torch.stack(answers) + head.bias_C)


def tokens_that_matter(config: HeadConfig, token: int) -> list[int]:
    """To the answer for one token of the second window."""
    hidden_LTH, lengths_N = some_windows()
    hidden_LTH.requires_grad_()
    head = Head(config, SPANS).initialise(3)
    out_TC = Pack([head])({None: hidden_LTH}, lengths_N)[0]
    (gradient_LTH,) = torch.autograd.grad(out_TC[LENGTHS[0] + token].sum(), hidden_LTH)
    return [t - LENGTHS[0] for t in gradient_LTH.abs().sum(dim=(0, 2)).nonzero().flatten().tolist()]


@pytest.mark.parametrize(
    ("config", "token", "expected"),
    [
        (CnnHead(channels=4, kernel=3, depth=2), 4, [4]),
        (NgramHead(size=6, filters=8, along="features"), 4, [4]),
        (NgramHead(size=6, filters=8, longest=3), 4, [3, 4, 5]),
        (NgramHead(size=6, filters=8, longest=4), 4, [3, 4, 5, 6]),
        (NgramHead(size=6, filters=8), 0, [0, 1, 2, 3]),
        (NgramHead(size=6, filters=8), 8, [5, 6, 7, 8]),
        (InceptionHead(size=6, channels=16), 4, list(range(9))),
        (InceptionHead(size=6, channels=16), 0, [0, 1, 2, 3, 4, 5, 6]),
        (XceptionModHead(size=6, channels=16, blocks=1), 4, list(range(9))),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else str(value),
)
def test_a_token_hears_its_neighbours_and_no_other_window(
    config: HeadConfig, token: int, expected: list[int]
) -> None:
    assert tokens_that_matter(config, token) == expected


def test_the_shrinking_inception_cannot_tell_eight_tokens_apart() -> None:
    hidden_LTH, lengths_N = some_windows()
    head = Head(InceptionHead(size=6, channels=4, keep_length=False), SPANS).initialise(3)

    windows = torch.split(Pack([head])({None: hidden_LTH}, lengths_N)[0], LENGTHS)

    for window_SC in windows:
        first_SC = window_SC[:8]
        assert torch.equal(first_SC, first_SC[:1].expand_as(first_SC))
    assert not torch.equal(windows[1][8], windows[1][0])
