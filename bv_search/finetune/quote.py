"""What fine-tuning would take: seconds, by a few steps that are measured here, and the memory of a worker."""

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from bv_search.command import Progress
from bv_search.encoder.batches import Indices
from bv_search.encoder.checkpoint import find_device, load_untrained, wrap
from bv_search.encoder.footprint import Footprint, count_footprint
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.predictions import predict_logits
from bv_search.encoder.share import ALONE, Share
from bv_search.encoder.stage import stage_name
from bv_search.encoder.training import EncoderTraining, TrainingSettings, make_plan
from bv_search.errors import UserError
from bv_search.finetune.clock import duration
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.material import Material
from bv_search.finetune.stage_folder import check_output
from bv_search.finetune.trainer import refuse_stage, settle_precision
from bv_search.store.doubts import HELD
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role

STEPS = 6  # that are measured, after one that prepares the others
SCORED = 64  # windows
GPUS = (8, 12, 16, 24, 32, 40, 48, 80, 141, 192)  # GB that there are
GPU_TAKES = 1e9  # bytes of it before there is a tensor


@dataclass(frozen=True, kw_only=True)
class MemoryWay:
    """Memory of a worker, by options."""

    options: str  # in place of those that were asked for; empty: these
    accumulate: int
    checkpointing: bool
    windows: int  # that are read at once, at most
    footprint: Footprint

    @property
    def gpu(self) -> int | None:
        """The smallest that holds it, in GB."""
        return next((size for size in GPUS if self.footprint.total + GPU_TAKES <= size * 1e9), None)

    def to_json(self) -> dict[str, Any]:
        return {
            "accumulate": self.accumulate,
            "checkpointing": self.checkpointing,
            "windows": self.windows,
            **asdict(self.footprint),
            "total": self.footprint.total,
            "gpu_gb": self.gpu,
        }

    def cells(self) -> tuple[str, str, str, str]:
        fits = "none that there is" if self.gpu is None else f"{self.gpu} GB"
        return self.options or "as asked", _gb(self.footprint.activations), _gb(self.footprint.total), fits


@dataclass(frozen=True, kw_only=True)
class FinetuneQuote:
    """Of a folder in which there is nothing yet."""

    steps: int
    seconds: dict[float, float]  # up to each fraction and its score
    precision: str
    workers: int
    tokens: int  # of the longest window
    ways: tuple[MemoryWay, ...]  # the first as asked for

    def to_json(self) -> dict[str, Any]:
        return {
            "steps": self.steps,
            "seconds": {stage_name(fraction): round(each, 1) for fraction, each in self.seconds.items()},
            "precision": self.precision,
            "workers": self.workers,
            "tokens": self.tokens,
            "memory": [way.to_json() for way in self.ways],
        }

    def __str__(self) -> str:
        beside = "" if self.workers == 1 else ", without what workers take to add gradients up"
        lines = [f"{self.steps:,} steps, by {STEPS} that were measured here with {self.precision}{beside}:"]
        lines += [f"  {stage_name(f):>5} epochs  {duration(each):>13}" for f, each in self.seconds.items()]
        asked = self.ways[0]
        each = "memory" if self.workers == 1 else "memory of each worker"
        parts = [f"{name} {_gb(size)}" for name, size in asdict(asked.footprint).items() if size]
        at_once = f"{asked.windows} windows of {self.tokens} tokens at once"
        lines.append(f"{each}, for {at_once}: {', '.join(parts)}")
        rows = [("", "activations", "in all", "a GPU of"), *(way.cells() for way in self.ways)]
        return "\n".join([*lines, *(f"  {a:21}  {b:>11}  {c:>9}  {d}" for a, b, c, d in rows)])


def take_quote(config: FinetuneConfig, progress: Progress) -> FinetuneQuote:
    """Nothing is written."""
    if config.heads is not None:
        raise UserError("a dry run is of the encoder alone", found="--heads", do="leave --heads out")
    check_output(config.out)
    task, location = find_task(config.task), locate_encoder(config.encoder)
    refuse_stage(location)
    device = find_device(config.device)
    dataset = load_dataset(task, config.data)
    checkpoint = load_untrained(location, task, seed=config.seed)
    checkpoint.model.to(device)
    material = Material(checkpoint=checkpoint, task=task, dataset=dataset)
    progress.update(f"tokenising {material.rows} rows")
    windows = material.windows[Role.TRAIN]
    settings = TrainingSettings(
        batch=config.batch,
        seed=config.seed,
        precision=settle_precision(config, device).precision,
        accumulate=config.accumulate,
        checkpointing=config.checkpointing,
    )
    longest = max(windows.column("length").to_pylist())
    progress.update(f"counting what a step takes, and measuring {STEPS} of them")
    return FinetuneQuote(
        steps=make_plan(windows, settings).step_of(max(config.marks)),
        precision=settings.precision,
        workers=config.workers,
        tokens=longest,
        ways=tuple(_find_ways(material, settings, config.workers, longest)),
        seconds=_measure(material, settings, config),
    )


def _find_ways(
    material: Material, settings: TrainingSettings, workers: int, tokens: int
) -> Iterator[MemoryWay]:
    """As asked for, and those that take less."""
    own = -(-settings.batch // workers)
    model, task = material.checkpoint.model, material.task
    ways = {"": settings}
    for factor in (2, 4):
        if settings.accumulate * factor <= own:
            more = settings.accumulate * factor
            ways[f"with --accumulate {more}"] = replace(settings, accumulate=more)
    if model.supports_gradient_checkpointing:
        ways.setdefault("with --checkpointing", replace(settings, checkpointing=True))
    for options, way in ways.items():
        if options and way == settings:
            continue
        windows = -(-settings.batch // (workers * way.accumulate))
        footprint = count_footprint(model.config, task, way, windows=windows, tokens=tokens)
        yield MemoryWay(
            options=options,
            accumulate=way.accumulate,
            checkpointing=way.checkpointing,
            windows=windows,
            footprint=footprint,
        )


def _measure(material: Material, settings: TrainingSettings, config: FinetuneConfig) -> dict[float, float]:
    """Seconds up to each fraction and its score, of the worker that has most to read."""
    windows = material.windows[Role.TRAIN]
    plan, lengths = make_plan(windows, settings), _lengths(windows)
    share = Share(worker=config.workers - 1, workers=config.workers)
    rate = _training_rate(material, replace(settings, accumulate=config.parts))
    score = _scoring_seconds(material)
    seconds = {}
    for number, fraction in enumerate(fraction for fraction in config.marks if fraction > 0):
        tokens = _padded(plan.batches(until=plan.step_of(fraction)), lengths, share, settings.accumulate)
        seconds[fraction] = tokens / rate + (number + 1) * score
    return {0.0: 0.0, **seconds} if 0.0 in config.marks else seconds


def time_steps(training: EncoderTraining) -> tuple[list[Indices], float]:
    """The windows of some steps, and the seconds that these took."""
    steps = training.steps([(STEPS + 1) / training.plan.steps_per_epoch])
    next(steps)
    began = time.perf_counter()
    met = [step.windows for step in steps]
    return met, time.perf_counter() - began


def _training_rate(material: Material, settings: TrainingSettings) -> float:
    """Tokens a second, with padding."""
    windows = material.windows[Role.TRAIN]
    met, spent = time_steps(EncoderTraining(material.checkpoint.model, material.task, windows, settings))
    return _padded(met, _lengths(windows), ALONE, settings.accumulate) / spent


def _scoring_seconds(material: Material) -> float:
    """Of all windows that score a stage, by some."""
    windows = pa.concat_tables([material.windows[role] for role in HELD])
    chosen = np.linspace(0, windows.num_rows - 1, min(SCORED, windows.num_rows))
    sample = windows.take(chosen.astype(np.int64))
    model = material.checkpoint.model
    encoder = wrap(material.checkpoint, task=material.task, stage=None, predicts=True, device=model.device)
    began = time.perf_counter()
    predict_logits(encoder, sample)
    return (time.perf_counter() - began) * float(_lengths(windows).sum() / _lengths(sample).sum())


def _padded(steps: Iterable[Indices], lengths: Indices, share: Share, accumulate: int) -> int:
    """Tokens that a worker reads, with padding."""
    parts = (part.windows for chosen in steps for part in share.parts_of(chosen, accumulate))
    return sum(len(windows) * int(lengths[windows].max()) for windows in parts)


def _lengths(windows: pa.Table) -> Indices:
    return np.array(windows.column("length").to_pylist(), dtype=np.int64)


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f} GB"
