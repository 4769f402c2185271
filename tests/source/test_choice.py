"""Heads are fed from files or by an encoder, whichever can be had and is faster."""

from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.encoder.identity import digest_weights
from bv_search.errors import EncoderError, StoreError
from bv_search.source import LIVE, STORE
from bv_search.source.choice import Rates, choose_source, compare_sources
from bv_search.store.store import Store
from tests.store.small import ENCODER, make_store

AUTO = "auto"


@pytest.fixture
def store(tmp_path: Path, tiny_encoder: Path) -> Store:
    """Of an encoder that is there."""
    entry = replace(ENCODER, id=str(tiny_encoder), digest=digest_weights(tiny_encoder))
    return make_store(tmp_path / "store", encoder=entry)


def bare(store: Store) -> Store:
    """The same, as if it kept no hidden states."""
    return Store(store.folder, replace(store.manifest, format="none"))


def without_encoder(store: Store, **changes: str) -> Store:
    encoder = replace(store.manifest.encoder, **changes)  # type: ignore[arg-type]
    return Store(store.folder, replace(store.manifest, encoder=encoder))


def test_what_is_asked_for_is_taken_without_a_word(store: Store) -> None:
    for asked in (STORE, LIVE):
        choice = choose_source(asked, store)
        assert (choice.source, choice.why) == (asked, "")


def test_where_both_can_be_had_they_are_still_to_be_measured(store: Store) -> None:
    assert choose_source(AUTO, store).source == AUTO


def test_one_token_a_window_is_read(store: Store) -> None:
    one_token = Store(store.folder, replace(store.manifest, tokens="first"))
    choice = choose_source(AUTO, one_token)
    assert (choice.source, "one token a window" in choice.why) == (STORE, True)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"id": "nobody/nothing"}, "its encoder is not here: nobody/nothing"),
        ({"digest": "xxh3:0"}, "is not the encoder that the hidden states are of"),
    ],
)
def test_without_its_encoder_a_store_is_read(store: Store, changes: dict[str, str], why: str) -> None:
    lonely = without_encoder(store, **changes)
    choice = choose_source(AUTO, lonely)
    assert choice.source == STORE
    assert why in str(choice)
    if "digest" in changes:
        with pytest.raises(EncoderError, match=r"put it back, or read the store: --source store"):
            choose_source(LIVE, lonely)


def test_what_is_not_kept_can_only_be_made(store: Store) -> None:
    for asked in (AUTO, LIVE):
        assert choose_source(asked, bare(store)).source == LIVE
    with pytest.raises(StoreError, match=r"keeps no hidden states; .*; let its encoder make them"):
        choose_source(STORE, bare(store))
    with pytest.raises(EncoderError, match="is not the encoder"):
        choose_source(AUTO, bare(without_encoder(store, digest="xxh3:0")))


def test_the_faster_one_is_taken_and_both_times_are_said(store: Store) -> None:
    train = store.split("train").entry
    size = train.tokens * store.manifest.token_bytes
    reads, encodes = size / 2.0, train.encoded_tokens / 3.0  # in 2 s, and in 3
    slow_reading = compare_sources(store, Rates(bytes_per_second=reads / 2, tokens_per_second=encodes))
    fast_reading = compare_sources(store, Rates(bytes_per_second=reads, tokens_per_second=encodes))
    assert (slow_reading.source, fast_reading.source) == (LIVE, STORE)
    assert "in 2.0 s; the encoder would take 3.0 s" in str(fast_reading)
    assert "takes 3.0 s a pass; reading would be 0.00 GB in 4.0 s" in str(slow_reading)
