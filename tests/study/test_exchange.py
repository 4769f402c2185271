"""Scores of heads on another stage are read as they were written, and of that store alone."""

from pathlib import Path

import pytest

from bv_search.errors import RunError
from bv_search.files import write_signed
from bv_search.store.store import Store
from bv_search.study.exchange import FORMAT_VERSION, read_exchange
from tests.stores import make_class_store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_class_store(tmp_path_factory.mktemp("exchange") / "store")


def written(place: Path, store: str) -> Path:
    """A correlation may be below 0."""
    score = {"run": "heads-1", "trial": "0001", "score": -0.1, "interval": [-0.2, 0.1]}
    write_signed(place, {"format_version": FORMAT_VERSION, "store": store, "scores": [score], "why": None})
    return place


def test_scores_below_zero_are_read(store: Store, tmp_path: Path) -> None:
    found = read_exchange(written(tmp_path / "1-on-0.json", store.digest), store)
    assert found["heads-1", "0001"].score == -0.1
    assert found["heads-1", "0001"].interval == (-0.2, 0.1)


def test_those_of_another_store_are_refused(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path / "1-on-0.json", "xxh3:another")
    with pytest.raises(RunError, match="is of another store"):
        read_exchange(path, store)


def test_a_flipped_bit_is_seen(store: Store, tmp_path: Path) -> None:
    path = written(tmp_path / "1-on-0.json", store.digest)
    path.write_text(path.read_text().replace("-0.1", "-0.3"))
    with pytest.raises(RunError, match="is damaged"):
        read_exchange(path, store)
