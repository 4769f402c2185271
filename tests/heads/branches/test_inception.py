"""Inception blocks along the tokens, against the same sums written out window by window."""

import pytest
import torch
from torch.nn import functional

from bv_search.heads.config import HeadConfig, InceptionHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from tests.heads.branches.hearing import LENGTHS, SPANS, some_windows, tokens_that_matter, weights_of


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


def test_the_shrinking_inception_cannot_tell_eight_tokens_apart() -> None:
    hidden_LTH, lengths_N = some_windows()
    head = Head(InceptionHead(size=6, channels=4, keep_length=False), SPANS).initialise(3)

    windows = torch.split(Pack([head])({None: hidden_LTH}, lengths_N)[0], LENGTHS)

    for window_SC in windows:
        first_SC = window_SC[:8]
        assert torch.equal(first_SC, first_SC[:1].expand_as(first_SC))
    assert not torch.equal(windows[1][8], windows[1][0])


@pytest.mark.parametrize(
    ("config", "token", "expected"),
    [
        (InceptionHead(size=6, channels=16), 4, list(range(9))),
        (InceptionHead(size=6, channels=16), 0, [0, 1, 2, 3, 4, 5, 6]),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else str(value),
)
def test_a_token_hears_its_neighbours_and_no_other_window(
    config: HeadConfig, token: int, expected: list[int]
) -> None:
    assert tokens_that_matter(config, token) == expected
