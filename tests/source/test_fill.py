"""A block is encoded in batches of like length, each window once."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoder
from bv_search.source.channels import Channels
from bv_search.source.fill import encode_batches, fill_block
from bv_search.source.page import BlockInMemory
from tests.source.windows import LENGTHS, some_windows


@pytest.fixture(scope="module")
def encoder(tiny_encoder: Path) -> Encoder:
    return load_encoder(tiny_encoder)


def batches_of(encoder: Encoder, tokens: int) -> list[list[int]]:
    windows = some_windows()
    return [batch.tolist() for batch, _ in encode_batches(encoder, windows, tokens, torch.float32)]


def test_the_plan_follows_from_the_windows_and_the_tokens_of_a_batch(encoder: Encoder) -> None:
    assert batches_of(encoder, 1) == [[2], [4], [0], [1], [3], [5]]
    assert batches_of(encoder, 10) == [[2], [4], [0, 1], [3, 5]]
    assert batches_of(encoder, 1000) == [[2, 4, 0, 1, 3, 5]]


def test_each_window_is_what_it_is_alone(encoder: Encoder) -> None:
    windows = some_windows()
    ids, types = windows["token_ids"].to_pylist(), windows["type_ids"].to_pylist()
    for batch, encoded in encode_batches(encoder, windows, 20, torch.float32):
        assert list(encoded.lengths) == [LENGTHS[n] for n in batch]
        for place, number in enumerate(batch):
            with torch.inference_mode():
                alone = encoder.encode([ids[number]], [types[number]])
            for layer, own in zip(encoded.layers, alone.layers, strict=True):
                torch.testing.assert_close(layer[place, : LENGTHS[number]], own[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("batch_tokens", [1, 20])
def test_a_block_is_filled_in_the_order_of_its_windows(encoder: Encoder, batch_tokens: int) -> None:
    windows = some_windows()
    channels = Channels(layers=("layer 1", "embeddings"), tokens="all", dtype="float16", width=32)
    block = BlockInMemory(channels, np.array(LENGTHS))
    block.hidden_LTH.fill(np.nan)
    assert fill_block(encoder, channels, windows, block, batch_tokens) is None, "it predicts nothing"
    ids, types = windows["token_ids"].to_pylist(), windows["type_ids"].to_pylist()
    with torch.inference_mode():
        alone = [channels.join(encoder.encode([a], [b])) for a, b in zip(ids, types, strict=True)]
    np.testing.assert_allclose(block.hidden_LTH, torch.cat(alone, dim=1).numpy(), rtol=2e-3, atol=2e-3)
