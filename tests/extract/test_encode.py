"""A block has the hidden states that the encoder alone gives."""

from pathlib import Path

import numpy as np
import pytest
import torch

from bv_search.encoder.batches import read_tokens
from bv_search.encoder.checkpoint import load_encoder
from bv_search.errors import BvError
from bv_search.store.dtype import widen
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.extract.conftest import Extract


def windows_of(store: Store, split: str) -> list[np.ndarray]:
    """hidden_LTH of every window, in float32."""
    found = []
    for block in store.split(split).blocks():
        ends = np.cumsum(block.lengths)
        for start, end in zip(ends - block.lengths, ends, strict=True):
            found.append(widen(block.hidden_LTH[:, start:end], store.manifest.dtype))
    return found


def encode_alone(
    store: Store, encoder_folder: Path, split: str
) -> list[tuple[torch.Tensor, torch.Tensor | None]]:
    """(L, S, H) of every window, encoded by itself, and the pooler output."""
    encoder = load_encoder(encoder_folder, task=store.task)
    index = store.split(split).index
    found = []
    for ids, types in zip(read_tokens(index), read_tokens(index, "type_ids"), strict=True):
        encoded = encoder.encode([ids], [types])
        found.append((encoded.hidden_LBSH[:, 0], encoded.pooler_BH))
    return found


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_first_tokens_and_pooler_are_stored_by_default(
    extract: Extract, stage: Path, fmt: str, dtype: str
) -> None:
    result = extract(format=fmt, dtype=dtype)
    store = Store.open(result.store)
    assert store.manifest.layers == ("embeddings", "layer 1", "layer 2", "pooler")
    assert store.manifest.shape == (4, 32)
    alone = encode_alone(store, stage, "train")
    for stored, (hidden_LSH, pooler_1H) in zip(windows_of(store, "train"), alone, strict=True):
        assert stored.shape == (4, 1, 32)
        assert pooler_1H is not None
        np.testing.assert_allclose(stored[:3], hidden_LSH[:, :1], atol=0.03)
        np.testing.assert_allclose(stored[3], pooler_1H.numpy(), atol=0.03)
    assert not any(find_damage(store))


def test_all_tokens_of_chosen_layers(extract: Extract, stage: Path) -> None:
    store = Store.open(extract(tokens="all", layers=(2, 0)).store)
    assert store.manifest.layers == ("layer 2", "embeddings")
    alone = encode_alone(store, stage, "dev")
    for stored, (hidden_LSH, _) in zip(windows_of(store, "dev"), alone, strict=True):
        np.testing.assert_allclose(stored, hidden_LSH[[2, 0]], atol=0.01)


def test_mean_tokens(extract: Extract, stage: Path) -> None:
    store = Store.open(extract(tokens="mean").store)
    assert store.manifest.layers == ("embeddings", "layer 1", "layer 2")
    alone = encode_alone(store, stage, "select")
    for stored, (hidden_LSH, _) in zip(windows_of(store, "select"), alone, strict=True):
        np.testing.assert_allclose(stored, hidden_LSH.mean(1, keepdim=True), atol=0.01)


def test_an_overflow_stops_with_its_layer_and_commits_nothing(
    extract: Extract, hot: Path, tmp_path: Path
) -> None:
    with pytest.raises(BvError, match=r"a value of channel 'layer 2' does not fit float16.*--dtype bfloat16"):
        extract(encoder=str(hot))
    assert not (tmp_path / "store/manifest.json").exists()
    Store.open(extract(encoder=str(hot), dtype="bfloat16", out=str(tmp_path / "other")).store)
