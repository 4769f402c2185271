"""A run finds its store where it was, or where both were moved to."""

from pathlib import Path

import pytest

from bv_search.errors import StoreError
from bv_search.run import Run
from bv_search.run.roles import open_store
from tests.run.conftest import StudyMaker
from tests.stores import make_class_store


@pytest.fixture
def house(tmp_path: Path, make_study: StudyMaker) -> Path:
    """A folder with runs/first, on stores/mrpc beside it."""
    house = tmp_path / "house"
    store = make_class_store(house / "stores" / "mrpc")
    study = make_study(store=str(house / "stores" / "mrpc"), store_digest=store.digest)
    Run.create(house / "runs" / "first", study)
    return house


def test_a_store_is_found_where_it_was(house: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    assert open_store(Run.open(house / "runs" / "first")).path == str(house / "stores" / "mrpc")


def test_a_run_that_is_moved_with_its_store_finds_it(house: Path) -> None:
    moved = house.rename(house.parent / "moved")
    assert open_store(Run.open(moved / "runs" / "first")).path == str(moved / "stores" / "mrpc")


def test_what_only_has_the_name_of_the_store_is_not_taken_for_it(house: Path) -> None:
    moved = house.rename(house.parent / "moved")
    (moved / "stores").rename(moved / "attic")
    (moved / "mrpc").mkdir()
    with pytest.raises(StoreError, match=r"house/stores/mrpc: the run's store is not there"):
        open_store(Run.open(moved / "runs" / "first"))
