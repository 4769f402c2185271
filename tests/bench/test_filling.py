"""A table is trained once, and goes on where it was interrupted."""

from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.bench.table import read_table
from bv_search.command import main
from bv_search.store.store import Store
from tests.stores import make_class_store


def test_a_table_is_whole_and_is_not_trained_again(
    trained: Path, store: Store, capsys: pytest.CaptureFixture[str]
) -> None:
    table, before = read_table(trained), trained.stat().st_mtime_ns
    assert len(table.learned) == 9
    assert table.missing == []
    for learned in table.learned.values():
        places = [check.position for check in learned.found]
        assert places == sorted(set(places))
        ranks = [check.rank for check in learned.found]
        assert ranks == sorted(ranks), "its worth is the best until there"
    options = ["--store", store.path, "--space", str(trained.with_name("grid.yaml")), "--table", str(trained)]
    assert main(COMMAND, ["search", *options, "--quiet"]) == 0
    assert trained.stat().st_mtime_ns == before


def test_an_interrupted_table_goes_on(trained: Path, store: Store, tmp_path: Path) -> None:
    whole, place = read_table(trained), tmp_path / "part.parquet"
    kept = dict(list(whole.learned.items())[:4])
    replace(whole, learned=kept).write(place)
    options = ["--store", store.path, "--space", str(trained.with_name("grid.yaml")), "--table", str(place)]
    assert main(COMMAND, ["search", *options, "--quiet"]) == 0
    again = read_table(place)
    assert {key: each.found[-1].position for key, each in again.learned.items()} == {
        key: each.found[-1].position for key, each in whole.learned.items()
    }
    assert {key: again.learned[key] for key in kept} == kept


def test_a_table_of_another_store_is_refused(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_class_store(tmp_path / "other", seed=1)
    options = ["--store", other.path, "--space", str(trained.with_name("grid.yaml")), "--table", str(trained)]
    assert main(COMMAND, ["search", *options]) == 2
    assert "has another store" in capsys.readouterr().err
