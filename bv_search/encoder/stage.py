"""A stage: an encoder after a fraction of fine-tuning, as a folder that says how it came about.

stages/0.3/  config.json model.safetensors tokenizer.json …   as save_pretrained writes them
             seen.parquet    keys of the rows that it was trained on
             stage.json      what is below; written last
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from bv_search.document import Count, Number, Positive, Text, check_plain, one_of
from bv_search.encoder.identity import EncoderIdentity, digest_weights
from bv_search.errors import EncoderError
from bv_search.files import decode_at, read_json, write_json
from bv_search.precision import BFLOAT16, FLOAT32

STAGE_FILE = "stage.json"
SEEN_FILE = "seen.parquet"
RAW, STANDARD = "raw", "standard"
FORMAT_VERSION = 1
AGAIN = "delete the stage and run bv-search finetune again"

Metrics = dict[str, float]
Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, kw_only=True)
class Stage:
    """How a checkpoint came about, and what it scores by itself."""

    task: Mapping[str, Any]  # the task, whole: Task.to_json()
    encoder: EncoderIdentity  # what was fine-tuned
    fraction: Number  # epochs of fine-tuning; 0: never fine-tuned, no predictions of its own
    seed: int
    learning_rate: Number
    batch: Positive  # windows per step
    steps: Count
    rows: Count  # distinct rows trained on
    data: Text  # digest of the data set
    weights: Text  # digest of this stage's own weights
    metrics: Mapping[str, Mapping[str, float]]  # by role, select and report; empty for stage 0
    interval: tuple[float, float] | None  # 95 % interval of the score on report
    seconds: Number  # of training up to here, evaluation not counted
    precision: Annotated[str, one_of(FLOAT32, BFLOAT16)] = FLOAT32  # of the matrix products of training
    parts: Positive = 1  # that each step was read in, each with a dropout of its own
    values: Annotated[str, one_of(RAW, STANDARD)] = RAW  # as a regression learned them; at first, raw
    format_version: int = FORMAT_VERSION

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def stage_name(fraction: float) -> str:
    return f"{abs(fraction):.10g}"  # of -0.0 too


def epochs(fraction: float) -> str:
    """In a sentence."""
    return f"{fraction:g} epoch{'' if fraction == 1 else 's'}"


def is_stage(folder: Path) -> bool:
    return (folder / STAGE_FILE).is_file()


def read_stage(folder: Path) -> Stage:
    """What a stage folder says of itself; its weights must be those that it was written with."""
    where = folder / STAGE_FILE
    value = read_json(where, EncoderError)
    if type(value.get("format_version")) is not int or value["format_version"] != FORMAT_VERSION:
        raise EncoderError(
            "is of another version", where=where, expected=FORMAT_VERSION, found=value.get("format_version")
        )
    stage = decode_at(Stage, value, EncoderError, where=where, do=AGAIN)
    found = digest_weights(folder)
    if found != stage.weights:
        raise EncoderError(
            "weights are damaged",
            where=folder,
            expected=stage.weights,
            found=found,
            do=AGAIN,
        )
    return stage


def write_stage(folder: Path, stage: Stage, seen: Keys) -> None:
    """Add to a saved checkpoint what makes it a stage."""
    keys = pa.table({"key": pa.array(np.unique(seen), pa.uint64())})
    pq.write_table(keys, folder / SEEN_FILE)
    write_json(folder / STAGE_FILE, stage.to_json())


def read_seen(folder: Path) -> Keys:
    """Keys of the rows that the stage was trained on, ascending."""
    where = folder / SEEN_FILE
    check_plain(where, EncoderError, do=AGAIN)
    try:
        column = pq.read_table(where).column("key")
        found = "a key that is null" if column.null_count else column.type
        keys = column.to_numpy() if column.type == pa.uint64() and not column.null_count else None
    except (OSError, pa.ArrowException, KeyError) as error:
        keys, found = None, next(iter(str(error).splitlines()), "nothing")
    if keys is None:
        raise EncoderError("cannot be read", where=where, expected="keys of rows", found=found, do=AGAIN)
    return np.asarray(keys, dtype=np.uint64)
