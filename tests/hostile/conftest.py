"""Rooms for hostile inputs."""

from pathlib import Path

import pytest

from tests.hostile.room import Room
from tests.model.small_run import Small
from tests.stores import make_class_store


@pytest.fixture(scope="session")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(make_class_store(tmp_path_factory.mktemp("hostile") / "classes").path)


@pytest.fixture
def room(small: Small, classes: Path, tiny_encoder: Path, tmp_path: Path) -> Room:
    return Room(place=tmp_path, small=small, classes=classes, encoder=tiny_encoder)
