"""A stage: an encoder after a fraction of fine-tuning, as a folder that says how it came about.

stages/0.3/  config.json model.safetensors tokenizer.json …   as save_pretrained writes them
             seen.parquet    keys of the rows that it was trained on
             stage.json      what is below; written last
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bv_search.encoder.identity import EncoderIdentity, digest_weights
from bv_search.errors import EncoderError
from bv_search.files import read_json, write_json

STAGE_FILE = "stage.json"
SEEN_FILE = "seen.parquet"
FORMAT_VERSION = 1

Metrics = dict[str, float]
Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """How a checkpoint came about, and what it scores by itself."""

    task: Mapping[str, Any]  # the task, whole: Task.to_json()
    encoder: EncoderIdentity  # what was fine-tuned
    fraction: float  # epochs of fine-tuning; 0: never fine-tuned, no predictions of its own
    seed: int
    learning_rate: float
    batch: int  # windows per step
    steps: int
    rows: int  # distinct rows trained on
    data: str  # digest of the data set
    weights: str  # digest of this stage's own weights
    metrics: Mapping[str, Metrics]  # by role, select and report; empty for stage 0
    interval: tuple[float, float] | None  # 95 % interval of the score on report
    seconds: float  # of training up to here, evaluation not counted
    format_version: int = FORMAT_VERSION

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def stage_name(fraction: float) -> str:
    return f"{abs(fraction):.10g}"  # of -0.0 too


def is_stage(folder: Path) -> bool:
    return (folder / STAGE_FILE).is_file()


def read_stage(folder: Path) -> Stage:
    """What a stage folder says of itself; its weights must be those that it was written with."""
    where = folder / STAGE_FILE
    value = read_json(where, EncoderError)
    if value.get("format_version") != FORMAT_VERSION:
        raise EncoderError(
            "is of another version", where=where, expected=FORMAT_VERSION, found=value.get("format_version")
        )
    names = {field.name for field in fields(Stage)}
    if set(value) != names:
        raise EncoderError("is damaged", where=where, expected=_list(names), found=_list(value))
    stage = _from_json(value, where)
    found = digest_weights(folder)
    if found != stage.weights:
        raise EncoderError(
            "weights are damaged",
            where=folder,
            expected=stage.weights,
            found=found,
            do="delete the stage and run bv-search finetune again",
        )
    return stage


def _from_json(value: dict[str, Any], where: Path) -> Stage:
    encoder = EncoderIdentity.from_json(value["encoder"], where=where)
    interval = tuple(value["interval"]) if value["interval"] is not None else None
    return Stage(**value | {"encoder": encoder, "interval": interval})


def write_stage(folder: Path, stage: Stage, seen: Keys) -> None:
    """Add to a saved checkpoint what makes it a stage."""
    keys = pa.table({"key": pa.array(np.unique(seen), pa.uint64())})
    pq.write_table(keys, folder / SEEN_FILE)
    write_json(folder / STAGE_FILE, stage.to_json())


def read_seen(folder: Path) -> Keys:
    """Keys of the rows that the stage was trained on, ascending."""
    try:
        return np.asarray(pq.read_table(folder / SEEN_FILE).column("key").to_numpy(), dtype=np.uint64)
    except (OSError, pa.ArrowException, KeyError) as error:
        raise EncoderError(
            "cannot be read",
            where=folder / SEEN_FILE,
            found=str(error).splitlines()[0],
            do="delete the stage and run bv-search finetune again",
        ) from error


def _list(names: Any) -> str:
    return ", ".join(sorted(names))
