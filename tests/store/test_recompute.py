"""What an encoder would take is measured by the store's own encoder, and by no other."""

from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from bv_search.encoder.checkpoint import load_encoder
from bv_search.store import recompute
from bv_search.store.recompute import encoder_rate, rate_of
from bv_search.store.store import Store
from tests.store.small import ENCODER, make_split, make_store


@pytest.fixture(autouse=True)
def a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recompute, "SECONDS", 0.05)


def store_of(place: Path, encoder: Path) -> Store:
    digest = load_encoder(encoder).identity.digest
    return make_store(place, encoder=replace(ENCODER, id=str(encoder), digest=digest))


def test_the_stores_own_encoder_has_a_rate(tmp_path: Path, tiny_encoder: Path) -> None:
    rate = encoder_rate(store_of(tmp_path / "store", tiny_encoder), tiny_encoder)
    assert rate is not None
    assert 100 < rate < 1e8


def test_another_encoder_has_none(tmp_path: Path, tiny_encoder: Path) -> None:
    assert encoder_rate(make_store(tmp_path / "store"), tiny_encoder) is None


def test_it_is_of_tokens_and_not_of_windows(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first batch warms up: what comes after it is counted, by a clock that goes on by a second."""
    windows, times = make_split(12).index, count()
    monkeypatch.setattr("bv_search.store.recompute.time.perf_counter", lambda: next(times))
    lengths = sorted(windows["length"].to_pylist(), reverse=True)
    rate = rate_of(load_encoder(tiny_encoder), windows, "float32", batch_tokens=1)
    assert rate == pytest.approx(lengths[1] / 2), "one window, and the clock was looked at twice since"
