"""Short sentences whose label one word gives away, as an RTE folder, and configs on it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bv_search.command import Progress
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.finetuning import run
from bv_search.finetune.stage_folder import SavedStage

Configure = Callable[..., FinetuneConfig]
LINEAR = {"kind": "linear", "channels": "all"}
SMALL = {"kind": "adapter", "size": 4, "shared": True, "skip": False}
SPACE = {
    "space": {
        "head": {"choice": [LINEAR, SMALL]},
        "learning_rate": 3e-3,
        "dropout": {"choice": [0.0, 0.2]},
        "batch": "auto",
    }
}


def of_heads(*heads: dict[str, Any], **settings: Any) -> dict[str, Any]:
    """A space of these."""
    return {"space": {"head": {"choice": list(heads)}, "learning_rate": 3e-3, **settings}}


def weights_of(stages: list[SavedStage]) -> dict[float, str]:
    return {saved.stage.fraction: saved.stage.weights for saved in stages}


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


@pytest.fixture(scope="session")
def ridden(
    rte_folder: Path, tiny_encoder: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[SavedStage]:
    """Stages with the heads that rode along."""
    config = FinetuneConfig(
        task="rte",
        encoder=str(tiny_encoder),
        fractions=(0.0, 0.5, 2.0),
        out=tmp_path_factory.mktemp("ridden") / "stages",
        data=str(rte_folder),
        learning_rate=1e-3,
        heads=SPACE,
    )
    return run(config, Progress(quiet=True))
