"""Batches come into their places in a block, and what fails there is told."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.encoder.checkpoint import load_untrained, wrap
from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.encoder.location import locate_encoder
from bv_search.source.channels import Channels
from bv_search.source.page import BlockInMemory
from bv_search.source.placer import Placer, as_tensor
from bv_search.tasks.registry import find_task

CHANNELS = Channels(layers=("layer 1", "embeddings"), tokens="all", dtype="bfloat16", width=32)
LENGTHS = [2, 4, 1]


@pytest.fixture(scope="module")
def encoder(tiny_encoder: Path) -> Encoder:
    """One that predicts classes."""
    task = find_task("mrpc")
    checkpoint = load_untrained(locate_encoder(tiny_encoder), task, seed=0)
    return wrap(checkpoint, task=task, stage=None, predicts=True, device=torch.device("cpu"))


def batch_of(*windows: int, logits: bool = True) -> tuple[np.ndarray, Encoded]:
    """Of a window every token is its number, one more in the second layer; padding is 99."""
    lengths = [LENGTHS[n] for n in windows]
    hidden_BSH = torch.full((len(windows), max(lengths), 32), 99.0)
    for place, (number, length) in enumerate(zip(windows, lengths, strict=True)):
        hidden_BSH[place, :length] = float(number)
    said = torch.tensor([[float(n), 0.5] for n in windows]) if logits else None
    layers = (hidden_BSH, hidden_BSH + 1.0)
    return np.array(windows), Encoded(layers=layers, pooler_BH=None, logits=said, lengths=tuple(lengths))


def test_windows_stand_in_their_order_whatever_that_of_the_batches(encoder: Encoder) -> None:
    block = BlockInMemory(CHANNELS, np.array(LENGTHS))
    with Placer(encoder, CHANNELS, block) as placer:
        placer.put(*batch_of(1, 0))
        placer.put(*batch_of(2))
        logits = placer.logits()
    values_LTH = as_tensor(block.hidden_LTH, torch.bfloat16)
    assert values_LTH[1, :, 0].tolist() == [0.0, 0.0, 1.0, 1.0, 1.0, 1.0, 2.0]
    assert torch.equal(values_LTH[0], values_LTH[1] + 1)
    assert logits is not None
    assert [each.tolist() for each in logits] == [[0.0, 0.5], [1.0, 0.5], [2.0, 0.5]]


def test_without_predictions_there_are_no_logits(encoder: Encoder) -> None:
    with Placer(encoder, CHANNELS, BlockInMemory(CHANNELS, np.array(LENGTHS))) as placer:
        placer.put(*batch_of(0, 1, 2, logits=False))
        assert placer.logits() is None


def test_logits_of_some_windows_alone_are_our_bug(encoder: Encoder) -> None:
    with Placer(encoder, CHANNELS, BlockInMemory(CHANNELS, np.array(LENGTHS))) as placer:
        placer.put(*batch_of(0, 1))
        with pytest.raises(AssertionError, match="every window or none"):
            placer.logits()


def test_what_fails_in_the_thread_is_raised_by_the_next_call(encoder: Encoder) -> None:
    class Full(BlockInMemory):
        def filled(self, windows: object) -> None:
            raise OSError("no room")

    with Placer(encoder, CHANNELS, Full(CHANNELS, np.array(LENGTHS))) as placer:
        placer.put(*batch_of(0))
        with pytest.raises(OSError, match="no room"):
            placer.put(*batch_of(1))


def test_a_tensor_shares_the_memory_of_its_array() -> None:
    stored = np.zeros(3, np.uint16)
    as_tensor(stored, torch.bfloat16).fill_(1.0)
    assert stored.tolist() == [0x3F80] * 3
