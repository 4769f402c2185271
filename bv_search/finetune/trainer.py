"""The training: once through all the fractions, score and keep a stage at each."""

import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import torch

from bv_search.command import AUTO
from bv_search.encoder.checkpoint import (
    Checkpoint,
    find_device,
    load_base,
    load_untrained,
    save_checkpoint,
    wrap,
)
from bv_search.encoder.identity import EncoderIdentity, digest_weights, identify
from bv_search.encoder.location import EncoderLocation, locate_encoder
from bv_search.encoder.predictions import predict_batches
from bv_search.encoder.stage import Metrics, Stage, is_stage, read_stage, stage_name, write_stage
from bv_search.encoder.training import Step, TrainingSettings, train
from bv_search.errors import EncoderError
from bv_search.files import folder_being_made
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.stage_folder import SavedStage, StageSettings, find_kept, read_stages, stages_locked
from bv_search.precision import BFLOAT16, PrecisionChoice, choose_precision
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.row import Dataset, Role
from bv_search.tasks.task import Logits, Placement, Task


@dataclass(frozen=True, kw_only=True)
class Progressed:
    """Progress; `stays` when it is a line of its own."""

    text: str
    stays: bool


Event = Progressed | SavedStage


def finetune(config: FinetuneConfig, task: Task) -> Iterator[Event]:
    """Do the work, telling of it; stages come as they are written."""
    location = locate_encoder(config.encoder)
    _refuse_stage(location)
    device = find_device(config.device)
    identity = identify(location)
    # not with the user's seed: extraction must withhold the same select rows
    dataset = load_dataset(task, config.data)
    for doubt in dataset.doubts:
        yield Progressed(text=doubt, stays=True)
    with stages_locked(config.out):
        precision = _choose_precision(config, device)
        yield Progressed(text=str(precision), stays=True)
        config = replace(config, precision=precision.precision)
        kept = find_kept(config, _settings_of(config, task, identity, dataset))
        for saved in kept.values():
            yield Progressed(text=f"stage {saved.path} is there already: kept", stays=True)
            yield saved
        fractions = tuple(fraction for fraction in config.marks if fraction not in kept)
        trainer = _Trainer(
            config=config, task=task, location=location, identity=identity, dataset=dataset, device=device
        )
        if 0.0 in fractions:
            yield trainer.save_untouched()
        if any(fractions):
            yield from trainer.train_through(tuple(f for f in fractions if f > 0))


def _refuse_stage(location: EncoderLocation) -> None:
    """Its rows would be met again, uncounted, and its fraction would not be what it says."""
    if is_stage(location.folder) and read_stage(location.folder).fraction > 0:
        raise EncoderError(
            "is a stage already",
            where=location.id,
            expected="an encoder that was not fine-tuned here",
            do=f"give the one that it was made from, {read_stage(location.folder).encoder.id}",
        )


def _settings_of(
    config: FinetuneConfig, task: Task, identity: EncoderIdentity, dataset: Dataset
) -> StageSettings:
    return StageSettings(
        task=task.to_json(),
        encoder=identity.digest,
        data=dataset.digest,
        seed=config.seed,
        learning_rate=config.learning_rate,
        batch=config.batch,
        precision=config.precision,
    )


def _choose_precision(config: FinetuneConfig, device: torch.device) -> PrecisionChoice:
    """As the stages that are there have it: they and the new ones are of one training run."""
    begun = {stage.precision for stage in read_stages(config.out).values()}
    if config.precision == AUTO and len(begun) == 1:
        return PrecisionChoice(precision=begun.pop(), why=f"as of the stages in {config.out}")
    return choose_precision(config.precision, device, among=(BFLOAT16,))


@dataclass(frozen=True, kw_only=True)
class _Trainer:
    """Everything that a training run stands on."""

    config: FinetuneConfig
    task: Task
    location: EncoderLocation
    identity: EncoderIdentity
    dataset: Dataset
    device: torch.device

    def save_untouched(self) -> SavedStage:
        return self._save(self._draft(0.0), load_base(self.location), np.zeros(0, np.uint64))

    def train_through(self, fractions: tuple[float, ...]) -> Iterator[Event]:
        checkpoint = load_untrained(self.location, self.task, seed=self.config.seed)
        checkpoint.model.to(self.device)
        yield Progressed(text=f"tokenising {self.dataset_size()} rows", stays=False)
        windows = self._windows(Role.TRAIN, checkpoint)
        held = {role: self._windows(role, checkpoint) for role in (Role.SELECT, Role.REPORT)}
        placements = (self.task.placement(each) for each in (windows, *held.values()))
        if (doubt := sum(placements, Placement()).doubt) is not None:
            yield Progressed(text=doubt, stays=True)
        keys = windows.column("key").to_numpy()
        clock = TrainingClock()
        for step in train(checkpoint.model, self.task, windows, self._training(), fractions):
            clock.count(step)
            if clock.is_due():
                yield Progressed(text=clock.describe(step), stays=False)
            for fraction in step.reached:
                assert step.met is not None
                seen = np.unique(keys[step.met])
                with clock.stopped():
                    draft = self._draft(fraction, steps=step.number, seconds=clock.seconds, rows=len(seen))
                    stage = yield from self._score(draft, checkpoint, held)
                    yield self._save(stage, checkpoint, seen)

    def dataset_size(self) -> int:
        return sum(len(split.rows) for split in self.dataset.splits)

    def _training(self) -> TrainingSettings:
        return TrainingSettings(
            learning_rate=self.config.learning_rate,
            batch=self.config.batch,
            seed=self.config.seed,
            precision=self.config.precision,
        )

    def _windows(self, role: Role, checkpoint: Checkpoint) -> pa.Table:
        return self.task.windows(self.dataset.rows(role), checkpoint.tokenizer)

    def _draft(self, fraction: float, *, steps: int = 0, seconds: float = 0.0, rows: int = 0) -> Stage:
        return Stage(
            task=self.task.to_json(),
            encoder=self.identity,
            fraction=fraction,
            seed=self.config.seed,
            learning_rate=self.config.learning_rate,
            batch=self.config.batch,
            precision=self.config.precision,
            steps=steps,
            rows=rows,
            data=self.dataset.digest,
            weights="",
            metrics={},
            interval=None,
            seconds=round(seconds, 3),
        )

    def _score(
        self, draft: Stage, checkpoint: Checkpoint, held: dict[Role, pa.Table]
    ) -> Generator[Progressed, None, Stage]:
        encoder = wrap(checkpoint, task=self.task, stage=None, predicts=True, device=self.device)
        found: dict[Role, Evaluation] = {}
        for role, windows in held.items():
            logits: dict[int, Logits] = {}
            for batch in predict_batches(encoder, windows):
                logits |= batch
                told = f"{len(logits):,} of {windows.num_rows:,} {role} windows"
                yield Progressed(text=f"scoring stage {stage_name(draft.fraction)}: {told}", stays=False)
            found[role] = self.task.evaluate(windows, [logits[i] for i in range(windows.num_rows)])
        metrics = {role.value: _metrics_of(evaluation) for role, evaluation in found.items()}
        low, high = found[Role.REPORT].interval()
        return replace(draft, metrics=metrics, interval=(float(low), float(high)))

    def _save(self, draft: Stage, checkpoint: Checkpoint, seen: np.ndarray) -> SavedStage:
        path = self.config.out / stage_name(draft.fraction)
        with folder_being_made(path) as folder:
            save_checkpoint(folder, checkpoint)
            stage = replace(draft, weights=digest_weights(folder))
            write_stage(folder, stage, seen)
        return SavedStage(path=path, stage=stage, kept=False)


def _metrics_of(evaluation: Evaluation) -> Metrics:
    return {"score": float(evaluation.score)} | {
        name: float(value) for name, value in evaluation.metrics.items()
    }


UPDATE_SECONDS = 0.5
SMOOTHING = 0.98  # of the shown loss, per step


class TrainingClock:
    """Counts the seconds of training, without those in which it stood still for scoring."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._stopped_seconds = 0.0
        self._shown = float("-inf")
        self._tokens = 0
        self._loss: float | None = None

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started - self._stopped_seconds

    def count(self, step: Step) -> None:
        self._tokens += step.tokens
        self._loss = step.loss if self._loss is None else SMOOTHING * self._loss + (1 - SMOOTHING) * step.loss

    @contextmanager
    def stopped(self) -> Iterator[None]:
        began = time.monotonic()
        yield
        self._stopped_seconds += time.monotonic() - began

    def is_due(self) -> bool:
        """Whether it is time to tell of progress again."""
        now = time.monotonic()
        if now - self._shown < UPDATE_SECONDS:
            return False
        self._shown = now
        return True

    def describe(self, step: Step) -> str:
        left = self.seconds / step.number * (step.total - step.number)
        speed = self._tokens / max(self.seconds, 1e-9)
        return (
            f"fine-tuning: step {step.number:,} of {step.total:,}, loss {self._loss:.3f}, "
            f"{speed:,.0f} tokens/s, {_duration(left)} left"
        )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s" if minutes else f"{rest} s"
