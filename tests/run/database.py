"""A database that MLflow has migrated and nobody has used: it takes seconds to make one."""

import shutil
from functools import cache
from pathlib import Path

from bv_search.run.tracking import prepare_database


@cache
def migrated(folder: Path) -> Path:
    """Made once in a test session."""
    path = folder / "mlflow.db"
    prepare_database(path, (folder / "mlartifacts").as_uri())
    return path


def place_database(runs: Path, folder: Path) -> None:
    """Put a copy where runs of a folder are mirrored by default."""
    runs.mkdir(parents=True, exist_ok=True)
    shutil.copy(migrated(folder), runs / "mlflow.db")
