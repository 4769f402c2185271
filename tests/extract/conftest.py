"""A few sentence pairs in MRPC's own format, a tiny encoder, and a stage of it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from bv_search.command import Progress
from bv_search.encoder.checkpoint import load_encoder, load_untrained, save_checkpoint
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.stage import Stage, write_stage
from bv_search.extract.config import ExtractConfig
from bv_search.extract.extraction import ExtractResult, run
from bv_search.store.layout import BlockLimits
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task

SMALL = BlockLimits(bytes=1, windows=16)
TRAIN_ROWS, DEV_ROWS = 80, 24

Extract = Callable[..., ExtractResult]


@pytest.fixture(scope="session")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    write_pairs(folder)
    return folder


def write_pairs(folder: Path, *, seed: int = 0, train_rows: int = TRAIN_ROWS) -> None:
    rng = np.random.default_rng(seed)
    for name, rows in (("train", train_rows), ("dev", DEV_ROWS)):
        lines = ["Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"]
        for number in range(rows):
            words = " ".join(rng.choice(["the", "tower", "of", "a", "river", "stands"], rng.integers(3, 30)))
            lines.append(f"{number % 2}\t{number}\t{number}\tfirst {name} {number} {words}\tsecond {words}")
        (folder / f"{name}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.fixture
def hot(tiny_encoder: Path, tmp_path: Path) -> Path:
    """An encoder whose second layer gives values beyond float16."""
    folder, encoder = tmp_path / "hot", load_encoder(tiny_encoder)
    with torch.no_grad():
        encoder.model.encoder.layer[1].output.LayerNorm.weight.mul_(1e6)
    encoder.model.save_pretrained(folder)
    encoder.tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def stage(tiny_encoder: Path, pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stage whose head knows nothing, but which says that it has seen the first ten rows."""
    task = find_task("mrpc")
    folder = tmp_path_factory.mktemp("stages") / "0.3"
    checkpoint = load_untrained(locate_encoder(tiny_encoder), task, seed=0)
    save_checkpoint(folder, checkpoint)
    dataset = load_dataset(task, str(pairs))
    seen = np.array([row.key for row in dataset.split("train").rows[:10]], np.uint64)
    write_stage(
        folder,
        Stage(
            task=task.to_json(),
            encoder=checkpoint.identity,
            fraction=0.3,
            seed=0,
            learning_rate=2e-5,
            batch=8,
            steps=1,
            rows=10,
            data=dataset.digest,
            weights=_digest(folder),
            metrics={},
            interval=None,
            seconds=0.0,
        ),
        seen,
    )
    return folder


def _digest(folder: Path) -> str:
    from bv_search.encoder.identity import digest_weights

    return digest_weights(folder)


@pytest.fixture
def config(stage: Path, pairs: Path, tmp_path: Path) -> Callable[..., ExtractConfig]:
    """An extraction into `tmp_path/store`, with what is given changed."""

    def make(**changes: Any) -> ExtractConfig:
        usual: dict[str, Any] = {
            "task": "mrpc",
            "encoder": str(stage),
            "out": str(tmp_path / "store"),
            "data": str(pairs),
            "limits": SMALL,
            "workers": 0,
            "threads": 1,
            "precision": "float32",
        }
        return ExtractConfig(**{**usual, **changes})

    return make


@pytest.fixture
def extract(config: Callable[..., ExtractConfig]) -> Extract:
    """Extraction in this process, without Ray."""

    def do(*, disk: Any = None, **changes: Any) -> ExtractResult:
        options = {} if disk is None else {"disk": disk}
        return run(config(**changes), Progress(quiet=True), **options)

    return do


def contents(place: Path) -> dict[str, bytes]:
    """The bytes of every file, by its way from there."""
    return {
        path.relative_to(place).as_posix(): path.read_bytes() for path in place.rglob("*") if path.is_file()
    }


def damage_file(path: Path) -> None:
    path.write_bytes(b"?" + path.read_bytes()[1:])
