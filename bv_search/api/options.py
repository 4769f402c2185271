"""What a verb takes by name. The meaning, the default and the check of each stand in the verb's config.

A test holds these names and types to those of the configs.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from bv_search.run.folder import Run
    from bv_search.store.layout import BlockLimits

Place = str | Path


class FinetuneOptions(TypedDict, total=False):
    """Of `FinetuneConfig`."""

    seed: int
    learning_rate: float
    batch: int
    device: str
    precision: str
    workers: int
    accumulate: int
    checkpointing: bool
    heads: Place | Mapping[str, Any] | None
    trials: int | None
    until_heads_plateau: int | None


class ExtractOptions(TypedDict, total=False):
    """Of `ExtractConfig`."""

    format: str
    dtype: str
    layers: tuple[int, ...] | None
    tokens: str | None
    workers: int | None
    threads: int | None
    precision: str
    batch_tokens: int | None
    seed: int
    repair: bool
    limits: "BlockLimits"


class SpaceOptions(TypedDict, total=False):
    """Of `TuneConfig`: what decides which heads are tried, and what each costs."""

    space: Place | Mapping[str, Any]
    searcher: str | None
    trials: int | None
    max_parameters: int | None
    data_fraction: float | None
    folds: int | None
    finalists: int | None
    seeds: int | None
    seed: int | None


class ResumeOptions(TypedDict, total=False):
    """Of `TuneConfig`: what a run that goes on may be told anew."""

    trials: int | None
    time_budget: float | None
    target: float | None
    patience: int | None
    pack: str | None
    source: str
    memory: int | None
    cache: int | None
    workers: int | None
    data: str | None


class TuneOptions(SpaceOptions, ResumeOptions, total=False):
    """Of `TuneConfig`: all of a new search."""

    scheduler: str | None
    warm_start: "Run | Place | Iterable[Run | Place]"
    ladder: bool | None
    objective: str | None
    generation: int | None
    precision: str | None
    name: str | None
    runs: Place


class PredictOptions(TypedDict, total=False):
    """Of `PredictConfig`."""

    member: str | None
    data: str | None
    encoder: str | None
    out: str | None
    overwrite: bool
    device: str


class ExportOptions(TypedDict, total=False):
    """Of `ExportConfig`."""

    member: str
    encoder: str | None
    bundle: bool
    onnx: bool


class EnsembleOptions(TypedDict, total=False):
    """Of `EnsembleConfig`."""

    method: str
    limit: int
    data: str | None
    mlflow: bool


class StudyOptions(TypedDict, total=False):
    """Of `StudiesConfig`."""

    stages: tuple[float, ...]
    fractions: tuple[float, ...]
    heads: Place | Mapping[str, Any]
    space: Place | Mapping[str, Any]
    trials: int | None
    seeds: int
    cap: float
    only: tuple[str, ...]
    keep_stores: bool


class PipelineOptions(TypedDict, total=False):
    """Of `PipelineConfig`."""

    fraction: float
    space: Place | Mapping[str, Any]
    trials: int | None
