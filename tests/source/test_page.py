"""A block in memory holds what extraction would write, or nothing."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoder
from bv_search.errors import StoreError
from bv_search.source.channels import Channels
from bv_search.source.page import BlockInMemory, fill_page
from tests.source.windows import LENGTHS, some_windows

CHANNELS = Channels(layers=("layer 2", "embeddings"), tokens="all", dtype="float16", width=32)


@pytest.fixture
def encoder(tiny_encoder: Path) -> Encoder:
    return load_encoder(tiny_encoder)


@pytest.mark.parametrize(("dtype", "stored"), [("float16", np.float16), ("bfloat16", np.uint16)])
def test_it_has_room_for_every_stored_token(dtype: str, stored: type) -> None:
    channels = Channels(layers=("layer 2", "embeddings"), tokens="all", dtype=dtype, width=8)
    block = BlockInMemory(channels, np.array([3, 1, 2]))
    assert block.starts.tolist() == [0, 3, 4, 6]
    assert (block.hidden_LTH.shape, block.hidden_LTH.dtype) == ((2, 6, 8), np.dtype(stored))


def test_it_is_the_same_every_time(encoder: Encoder) -> None:
    pages = [fill_page(encoder, CHANNELS, some_windows(), 20, "here")[0] for _ in range(2)]
    assert pages[0].hidden_LTH.shape == (2, sum(LENGTHS), 32)
    np.testing.assert_array_equal(pages[0].hidden_LTH, pages[1].hidden_LTH)
    assert np.isfinite(pages[0].hidden_LTH).all()


def test_a_value_that_does_not_fit_is_refused_with_its_channel_and_place(encoder: Encoder) -> None:
    with torch.no_grad():
        encoder.model.encoder.layer[1].output.LayerNorm.weight.mul_(1e6)
    with pytest.raises(StoreError, match=r"block 7: a value of channel 'layer 2' does not fit float16"):
        fill_page(encoder, CHANNELS, some_windows(), 20, "split train, block 7")
