"""A made-up table, and one that the command has trained."""

from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.bench.table import Table
from bv_search.command import main
from bv_search.store.store import Store
from tests.bench.synthetic import make_table
from tests.stores import make_class_store

GRID = """
space:
  head: {choice: [{kind: linear}, {kind: adapter, size: {choice: [4, 8]}}]}
  learning_rate: {choice: [1.0e-3, 1.0e-2, 3.0e-2]}
  patience: 2
"""


@pytest.fixture(scope="session")
def table() -> Table:
    return make_table()


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return make_class_store(tmp_path_factory.mktemp("stores") / "store")


@pytest.fixture(scope="session")
def trained(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table that the command made."""
    folder = tmp_path_factory.mktemp("table")
    (folder / "grid.yaml").write_text(GRID)
    place = folder / "small.parquet"
    options = ["--store", store.path, "--space", str(folder / "grid.yaml"), "--table", str(place)]
    assert main(COMMAND, ["search", *options, "--heads", "4", "--quiet"]) == 0
    return place
