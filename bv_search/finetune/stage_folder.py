"""A folder of stages: one encoder, one task, one training run, several fractions of its epochs.

stages/0.3/ stages/1/ …    each whole or absent
stages/heads/0.3/ …        a run of the heads that rode along up to there, each whole or absent
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bv_search.encoder.stage import Stage, is_stage, read_stage, stage_name
from bv_search.errors import OutputError
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.saved_heads import HEADS, SavedHeads, is_heads_folder
from bv_search.finetune.saved_training import FOLDER as TRAINING
from bv_search.holder import take_lock

LOCK_FILE = ".lock"


@dataclass(frozen=True, kw_only=True)
class SavedStage:
    """A stage on disk."""

    path: Path
    stage: Stage
    kept: bool  # it was there already
    heads: SavedHeads | None = None  # that rode along up to it


@dataclass(frozen=True, kw_only=True)
class StageSettings:
    """What must be the same in all the stages of a folder."""

    task: object  # its JSON
    encoder: str  # digest of the weights
    data: str  # digest
    seed: int
    learning_rate: float
    batch: int
    precision: str
    parts: int  # of a step: two workers, or one that reads it in two, come to the same but for rounding
    values: str  # of a regression, as it learns them

    def differences(self, stage: Stage) -> list[str]:
        found = {
            "task": stage.task,
            "encoder": stage.encoder.digest,
            "data": stage.data,
            "seed": stage.seed,
            "learning_rate": stage.learning_rate,
            "batch": stage.batch,
            "precision": stage.precision,
            "parts": stage.parts,
            "values": stage.values,
        }
        names = [name for name, value in found.items() if value != getattr(self, name)]
        plain = {"seed", "learning_rate", "batch", "precision", "values"}
        told = {name: f"{name} {found[name]}" if name in plain else f"another {name}" for name in names}
        if "parts" in told:
            told["parts"] = f"--workers × --accumulate {stage.parts}"
        return list(told.values())


def check_output(out: Path) -> None:
    """Refuse a place that holds anything but stages, before any work."""
    if not out.exists():
        return
    if not out.is_dir():
        raise OutputError("is a file", where=out, expected="a folder for stages")
    for child in sorted(out.iterdir()):
        if not (child.name.startswith(".") or is_stage(child) or is_heads_folder(child)):
            raise OutputError(
                "holds something else",
                where=out,
                expected="an empty folder, or stages",
                found=child.name,
                do="choose another --out",
            )


def read_stages(folder: Path) -> dict[Path, Stage]:
    children = sorted(folder.iterdir()) if folder.exists() else []
    return {child: read_stage(child) for child in children if is_stage(child)}


def find_kept(config: FinetuneConfig, settings: StageSettings) -> dict[float, SavedStage]:
    """The asked stages that are there already; every stage in the folder must have these settings."""
    stages = read_stages(config.out)
    for path, stage in stages.items():
        differences = settings.differences(stage)
        if differences:
            raise OutputError(
                "was made with other settings",
                where=path,
                found=", ".join(differences),
                do="choose another --out, or ask for the same settings",
            )
    asked = {config.out / stage_name(fraction): fraction for fraction in config.marks}
    return {
        asked[path]: SavedStage(path=path, stage=stage, kept=True)
        for path, stage in stages.items()
        if path in asked
    }


@contextmanager
def stages_locked(out: Path) -> Iterator[None]:
    """One writer at a time; what a killed one left half-made is removed."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / LOCK_FILE).open("w")
    except OSError as error:
        raise OutputError(
            "cannot be written", where=out, found=error.strerror, do="choose another --out"
        ) from error
    with lock:
        try:
            take_lock(lock.fileno(), out / LOCK_FILE)
        except BlockingIOError as error:
            raise OutputError("is being written by another bv-search finetune", where=out) from error
        for folder in (out, out / HEADS, out / TRAINING):
            for part in folder.glob(".*.part"):
                shutil.rmtree(part, ignore_errors=True)
        yield
