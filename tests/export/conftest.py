"""A finished study to look at, and a copy of its run to change."""

from pathlib import Path

import pytest

from bv_search.run import Run
from tests.model.small_run import Small, copy_run, shared_small
from tests.run.database import place_database


@pytest.fixture(scope="session")
def small(tiny_encoder: Path, generated_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Small:
    place = tmp_path_factory.getbasetemp() / "small-span"
    return shared_small("squad2-span", tiny_encoder, generated_data, place)


@pytest.fixture
def run(small: Small, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    place_database(tmp_path / "runs", tmp_path_factory.getbasetemp())
    return copy_run(small, tmp_path / "runs" / "first")
