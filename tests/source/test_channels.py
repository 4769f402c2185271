"""What is kept of hidden states is the same for a store, for a live source and for an answer."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from bv_search.encoder.checkpoint import load_untrained, wrap
from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.encoder.location import locate_encoder
from bv_search.errors import EncoderError
from bv_search.source.channels import Channels
from bv_search.tasks.registry import find_task

IDS, TYPES = [[2, 5, 6, 7, 3], [2, 8, 3]], [[0, 0, 0, 1, 1], [0, 0, 0]]
LAYERS = ("layer 2", "embeddings")


@pytest.fixture(scope="module")
def encoder(tiny_encoder: Path) -> Encoder:
    task = find_task("mrpc")
    checkpoint = load_untrained(locate_encoder(tiny_encoder), task, seed=0)  # with a pooler
    return wrap(checkpoint, task=task, stage=None, predicts=True, device=torch.device("cpu"))


@pytest.fixture(scope="module")
def encoded(encoder: Encoder) -> Encoded:
    return encoder.encode(IDS, TYPES)


def channels(tokens: str, dtype: str = "float16") -> Channels:
    layers = (*LAYERS, "pooler") if tokens == "first" else LAYERS
    return Channels(layers=layers, tokens=tokens, dtype=dtype, width=32)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_a_batch_is_joined_window_by_window_and_rounded(encoded: Encoded, dtype: str) -> None:
    assert encoded.pooler_BH is not None
    hidden_LBSH = encoded.hidden_LBSH[[2, 0]]
    windows = [hidden_LBSH[:, 0], hidden_LBSH[:, 1, :3]]
    first_LTH = torch.cat([hidden_LBSH[:, :, 0], encoded.pooler_BH[None]])
    for tokens, expected in (
        ("all", torch.cat(windows, dim=1)),
        ("first", first_LTH),
        ("mean", torch.stack([window.mean(dim=1) for window in windows], dim=1)),
    ):
        found = channels(tokens, dtype).join(encoded)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found, expected, atol=0.02, rtol=0.02)
        assert torch.equal(found, found.to(channels(tokens, dtype).stored).float())


def test_channels_are_views_of_what_the_encoder_gave(encoded: Encoded) -> None:
    last, embeddings = channels("all").pick(encoded)
    assert last is encoded.layers[2]
    assert embeddings is encoded.layers[0]


def test_an_encoder_without_a_channel_is_refused(encoder: Encoder) -> None:
    channels("first").check(encoder)
    for wrong in (
        replace(channels("all"), layers=("layer 3",)),
        replace(channels("all"), width=16),
        replace(channels("all"), layers=("pooler",)),
    ):
        with pytest.raises(EncoderError, match="lacks required layers"):
            wrong.check(replace(encoder, has_pooler=False))


def test_json_says_the_precision_and_older_json_means_float32() -> None:
    ours = replace(channels("first"), precision="bfloat16")
    value = ours.to_json()
    assert Channels.from_json(value) == ours
    del value["precision"]
    assert Channels.from_json(value).precision == "float32"
