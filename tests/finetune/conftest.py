"""Short sentences whose label one word gives away, as an RTE folder; and a config on it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.finetune.config import FinetuneConfig

Configure = Callable[..., FinetuneConfig]


@pytest.fixture(scope="session")
def rte_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rte")
    for name, count in {"train": 120, "dev": 30}.items():
        rows = [_row(number) for number in range(count)]
        (folder / f"{name}.tsv").write_text("\n".join(["index\tsentence1\tsentence2\tlabel", *rows]) + "\n")
    return folder


def _row(number: int) -> str:
    label = "entailment" if number % 2 else "not_entailment"
    tail = " again" * (number % 7)
    return f"{number}\tthe {number} birds flew{tail}\tthey did {'' if number % 2 else 'not '}fly\t{label}"


@pytest.fixture
def configure(rte_folder: Path, tiny_encoder: Path, tmp_path: Path) -> Configure:
    def make(**changes: object) -> FinetuneConfig:
        values = {
            "task": "rte",
            "encoder": str(tiny_encoder),
            "fractions": (0.3, 1.0),
            "out": tmp_path / "stages",
            "data": str(rte_folder),
            "learning_rate": 1e-3,
        }
        return FinetuneConfig(**values | changes)  # type: ignore[arg-type]

    return make
