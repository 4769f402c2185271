"""One function of tokens says what the model says of texts."""

import numpy as np
import pytest
import torch

from bv_search.encoder.encoder import pad_batch
from bv_search.export.graph import Graph
from bv_search.model.answer import live_logits
from bv_search.model.loading import model_of_run
from bv_search.run import Run
from tests.model.small_run import Small


@pytest.mark.parametrize("member", ["best", "encoder"])
def test_it_says_of_tokens_what_the_model_says_of_windows(small: Small, run: Run, member: str) -> None:
    model = model_of_run(run, member)
    encoder = model.load_encoder()
    windows = small.store.split("dev").index.slice(0, 6)
    ids, types = windows["token_ids"].to_pylist(), windows["type_ids"].to_pylist()
    with torch.no_grad():
        logits_NSC = Graph(model, encoder)(**pad_batch(encoder.model, ids, types, encoder.device))
    for ours_SC, theirs_SC, length in zip(
        logits_NSC.numpy(), live_logits(model, encoder, windows), map(len, ids), strict=True
    ):
        np.testing.assert_allclose(ours_SC[:length], theirs_SC, atol=0.02)
        assert np.isneginf(ours_SC[length:]).all(), "padding is no answer"
