"""Convolutions along the width of each token, against the same sums written out."""

import pytest
import torch
from torch.nn import functional

from bv_search.heads.config import CnnHead, HeadConfig
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from tests.heads.branches.hearing import SPANS, some_windows, tokens_that_matter, weights_of


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


@pytest.mark.parametrize(
    ("config", "token", "expected"),
    [
        (CnnHead(channels=4, kernel=3, depth=2), 4, [4]),
    ],
    ids=lambda value: value.name if isinstance(value, HeadConfig) else str(value),
)
def test_a_token_hears_its_neighbours_and_no_other_window(
    config: HeadConfig, token: int, expected: list[int]
) -> None:
    assert tokens_that_matter(config, token) == expected
