"""Studies on a few sentence pairs with a tiny encoder: two heads, two seeds."""

from pathlib import Path

import pytest

from bv_search.study.config import StudiesConfig
from tests.extract.conftest import write_pairs

HEADS = """
space:
  head:
    grid:
      - {kind: pooling, pooling: learned}
      - {kind: adapter, size: 2, shared: true}
  learning_rate: 0.003
  passes: 2
"""
SEARCHED = """
space:
  head: {kind: adapter, size: {choice: [4, 8]}, shared: true}
  learning_rate: {loguniform: [0.001, 0.01]}
  passes: 2
"""


def write_inputs(folder: Path) -> None:
    """Data and spaces."""
    (folder / "data").mkdir(parents=True)
    write_pairs(folder / "data")
    (folder / "heads.yaml").write_text(HEADS)
    (folder / "space.yaml").write_text(SEARCHED)


def words(folder: Path, encoder: Path, out: Path) -> list[str]:
    """Of the command line."""
    options = {
        "task": "mrpc",
        "encoder": encoder,
        "data": folder / "data",
        "heads": folder / "heads.yaml",
        "space": folder / "space.yaml",
        "stages": "0.5,1",
        "fractions": "0.5,1",
        "trials": 2,
        "seeds": 2,
        "cap": 50,
        "out": out,
    }
    return [word for name, value in options.items() for word in (f"--{name}", str(value))]


def configured(folder: Path, encoder: Path, out: Path) -> StudiesConfig:
    """The same as a config."""
    return StudiesConfig(
        task="mrpc",
        encoder=str(encoder),
        data=str(folder / "data"),
        heads=str(folder / "heads.yaml"),
        space=str(folder / "space.yaml"),
        stages=(0.5, 1.0),
        fractions=(0.5, 1.0),
        trials=2,
        seeds=2,
        cap=50,
        out=out,
    )


@pytest.fixture(scope="session")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studies")
    write_inputs(folder / "in")
    return folder / "in"
