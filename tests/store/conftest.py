"""One small store for each test that wants to read or to break one."""

from pathlib import Path

import pytest

from bv_search.store.store import Store
from tests.store.small import make_store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return make_store(tmp_path / "store")
