"""A store fed by its encoder holds what the store on the disk holds, and trains the same heads."""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.errors import EncoderError, StoreError
from bv_search.scan.outcome import Final, Start
from bv_search.scan.scanner import Scanner
from bv_search.scan.segment import Trained, train_segment
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.source import LIVE, STORE
from bv_search.source.live import feed_live, live_store
from bv_search.source.reference import EncoderReference
from bv_search.store.block import Block, Part
from bv_search.store.store import Store
from tests.extract.conftest import Extract

KINDS: list[dict[str, Any]] = [
    {},  # the first token, and the pooler's output
    {"tokens": "all", "layers": (2, 0)},
    {"tokens": "mean", "dtype": "bfloat16"},
    {"tokens": "all", "precision": "bfloat16"},
    {"tokens": "all", "format": "parquet", "dtype": "bfloat16", "precision": "bfloat16"},
]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pair_of(extract: Extract, **settings: Any) -> tuple[Store, Store]:
    """A store as it is on the disk, and fed by its encoder."""
    stored = Store.open(extract(**settings).store)
    return stored, feed_live(Store.open(stored.path))


@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_a_live_block_holds_the_stored_bits(extract: Extract, settings: dict[str, Any]) -> None:
    stored, live = pair_of(extract, **settings)
    for split in stored.splits():
        pairs = zip(split.blocks(), live.split(split.name).blocks(), strict=True)
        for kept, made in pairs:
            assert (made.number, made.first_window) == (kept.number, kept.first_window)
            assert made.lengths.tolist() == kept.lengths.tolist()
            np.testing.assert_array_equal(made.hidden_LTH.view(np.uint16), kept.hidden_LTH.view(np.uint16))


def test_parts_of_blocks_are_cut_as_the_stored_ones_are(extract: Extract) -> None:
    stored, live = pair_of(extract, tokens="all")
    parts = [Part(block=2, start=3, stop=9), Part(block=0, start=0, stop=16), Part(block=2, start=9, stop=16)]
    found = [list(store.split("train").read(parts)) for store in (stored, live)]
    for kept, made in zip(*found, strict=True):
        assert (made.first_window, made.windows) == (kept.first_window, kept.windows)
        np.testing.assert_array_equal(made.hidden_LTH, kept.hidden_LTH)


HEADS: list[dict[str, Any]] = [
    {"head": {"kind": "pooling", "pooling": "learned"}, "inputs": "raw", "learning_rate": 0.01},
    {"head": {"kind": "adapter", "size": 8, "shared": False, "skip": True}, "learning_rate": 0.01},
    {"head": {"kind": "xception", "form": "abbreviated"}, "learning_rate": 0.01, "dropout": 0.1},
]


def train(place: str, source: str, folds: int = 1) -> list[HeadState]:
    """Two passes of a pack, cut once on the way, with a check after each; one head has batch norm."""
    scanner = Scanner(place, source=source, device="cpu", folds=folds)
    configs = [TrialConfig.from_json(head) for head in HEADS]
    states = [scanner.fresh(Start(trial=str(n), config=config)) for n, config in enumerate(configs)]
    data = scanner.training_data(states)
    for stop in (1, 2 * -(-data.rows.split.windows // 16)):
        ends = train_segment(data, states, stop)
        states = [end.state for end in ends if isinstance(end, Trained)]
    assert len(states) == len(HEADS)
    return states


@pytest.mark.parametrize("folds", [1, 3])
@pytest.mark.parametrize("settings", KINDS, ids=str)
def test_heads_come_out_the_same_from_either_source(
    extract: Extract, settings: dict[str, Any], folds: int
) -> None:
    place = extract(**settings).store
    for one, other in zip(train(place, STORE, folds), train(place, LIVE, folds), strict=True):
        assert one.to_bytes() == other.to_bytes(), one.config.head.name
        assert one.checks.best is not None


def test_one_block_is_made_at_a_time(extract: Extract, monkeypatch: pytest.MonkeyPatch) -> None:
    _, live = pair_of(extract)
    made: list[int] = []
    cut = Block.cut

    def watched(block: Block, part: Part) -> Block:
        made.append(part.block)
        return cut(block, part)

    monkeypatch.setattr(Block, "cut", watched)
    for count, _ in enumerate(live.split("train").blocks(), start=1):
        assert len(made) == count


def test_it_rounds_nothing_off_where_heads_may(extract: Extract, monkeypatch: pytest.MonkeyPatch) -> None:
    _, live = pair_of(extract)
    seen = []
    encode = Encoder.encode

    def watched(encoder: Encoder, *windows: Any, **more: Any) -> Encoded:
        seen.append(torch.get_float32_matmul_precision())
        return encode(encoder, *windows, **more)

    monkeypatch.setattr(Encoder, "encode", watched)
    torch.set_float32_matmul_precision("high")
    try:
        next(live.split("train").blocks())
        Scanner(live.path).rates()
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
    assert set(seen) == {"highest"}


def test_an_overflow_is_refused_with_its_channel(extract: Extract, tiny_encoder: Path, hot: Path) -> None:
    store = Store.open(extract(encoder=str(tiny_encoder), format="none").store)
    live = live_store(store, load_encoder(hot))
    with pytest.raises(StoreError, match=r"split train, block 0: a value of channel 'layer 2' does not fit"):
        next(live.split("train").blocks())


def test_another_encoder_is_refused_in_one_line(extract: Extract, tiny_encoder: Path, tmp_path: Path) -> None:
    store = Store.open(extract().store)
    ours = EncoderReference.of(store.manifest.encoder)
    with pytest.raises(
        EncoderError, match=r"is not the encoder that the hidden states are of; expected digest"
    ):
        ours.find(tiny_encoder)
    gone = replace(ours, place=str(tmp_path / "gone"))
    with pytest.raises(
        EncoderError, match="gone: the encoder is not there; expected the encoder with digest"
    ):
        gone.find()
    assert gone.load(ours.place).identity.digest == ours.digest


@pytest.mark.parametrize("folds", [1, 3])
def test_a_scanner_trains_and_scores_without_a_file_of_hidden_states(extract: Extract, folds: int) -> None:
    place = extract().store
    start = Start(trial="a", config=TrialConfig.from_json(HEADS[0]))
    (stored,) = Scanner(place, source=STORE, folds=folds).segment([start], 2, score=["a"])
    for blocks in Path(place).glob("*/blocks"):
        shutil.rmtree(blocks)
    scanner = Scanner(place, source=LIVE, folds=folds)
    (live,) = scanner.segment([start], 2, score=["a"])
    assert live == stored
    assert live.state is not None
    (final,) = scanner.final([live.state])
    assert isinstance(final, Final)
    assert live.found is not None
    assert final.select.score == live.found.score
    with pytest.raises(StoreError, match="is missing"):
        Scanner(place, source=STORE, folds=folds).segment([start], 2, score=["a"])
