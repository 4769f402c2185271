"""Convolutions of every length side by side, against the same sums written out window by window."""

import pytest
import torch
from torch.nn import functional

from bv_search.heads.config import HeadConfig, NgramHead
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from tests.heads.branches.hearing import LENGTHS, SPANS, some_windows, tokens_that_matter, weights_of


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


@pytest.mark.parametrize(
    ("config", "token", "expected"),
    [
        (NgramHead(size=6, filters=8, along="features"), 4, [4]),
        (NgramHead(size=6, filters=8, longest=3), 4, [3, 4, 5]),
        (NgramHead(size=6, filters=8, longest=4), 4, [3, 4, 5, 6]),
        (NgramHead(size=6, filters=8), 0, [0, 1, 2, 3]),
        (NgramHead(size=6, filters=8), 8, [5, 6, 7, 8]),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else str(value),
)
def test_a_token_hears_its_neighbours_and_no_other_window(
    config: HeadConfig, token: int, expected: list[int]
) -> None:
    assert tokens_that_matter(config, token) == expected
