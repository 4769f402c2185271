"""An adapter on every token of a window, flattened."""

import torch
from torch.nn import functional

from bv_search.heads.config import FlatAdapterHead, HeadShape
from bv_search.heads.head import Head
from bv_search.heads.pack import Pack
from tests.heads.branches.hearing import LENGTHS, some_windows, weights_of

TOKENS = HeadShape(layers=4, width=12, outputs=3, per_token=False)


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
