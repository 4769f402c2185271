"""The training: once through all the fractions; at each a stage is scored and kept, with its heads."""

from collections.abc import Generator, Iterator
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
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
from bv_search.encoder.share import ALONE, Share
from bv_search.encoder.stage import Metrics, Stage, is_stage, read_stage, stage_name, write_stage
from bv_search.encoder.training import EncoderTraining, Step, TrainingSettings, values_of
from bv_search.errors import EncoderError, OutputError
from bv_search.files import digest_json, folder_being_made
from bv_search.finetune.clock import TrainingClock
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.crew import Crew
from bv_search.finetune.event import Event, Progressed
from bv_search.finetune.follower import TrainingOrder
from bv_search.finetune.material import Material
from bv_search.finetune.plateau import is_plateau
from bv_search.finetune.ride import Ride
from bv_search.finetune.riders import Riders
from bv_search.finetune.saved_heads import find_heads
from bv_search.finetune.saved_training import SavedTraining, TrainingFolder, TrainingState, begun_precision
from bv_search.finetune.scoring import OwnReading
from bv_search.finetune.stage_folder import SavedStage, StageSettings, find_kept, read_stages, stages_locked
from bv_search.finetune.stage_heads import JudgedHead, judged
from bv_search.precision import BFLOAT16, PrecisionChoice, choose_precision
from bv_search.scan.judge import Verdict
from bv_search.store.doubts import HELD
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.row import Dataset, Role
from bv_search.tasks.task import Task


def finetune(
    config: FinetuneConfig, task: Task, ride: Ride | None = None, share: Share = ALONE
) -> Iterator[Event]:
    """Do the work, telling of it; stages come as they are written. Of several workers one does it."""
    location = locate_encoder(config.encoder)
    refuse_stage(location)
    device = find_device(config.device)
    identity = identify(location)
    # not with the user's seed: extraction must withhold the same select rows
    dataset = load_dataset(task, config.data)
    for doubt in dataset.doubts:
        yield Progressed(text=doubt, stays=True)
    with stages_locked(config.out):
        precision = settle_precision(config, device)
        yield Progressed(text=str(precision), stays=True)
        config = replace(config, precision=precision.precision)
        trainer = _Trainer(
            config=config,
            task=task,
            location=location,
            identity=identity,
            dataset=dataset,
            device=device,
            ride=ride,
            share=share,
            done=find_kept(config, _settings_of(config, task, identity, dataset)),
        )
        yield from trainer.run()


def refuse_stage(location: EncoderLocation) -> None:
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
        parts=config.parts,
        values=values_of(task),
    )


def settle_precision(config: FinetuneConfig, device: torch.device) -> PrecisionChoice:
    """As what is there has it, stages or a checkpoint: it and the new stages are of one training run."""
    begun = {stage.precision for stage in read_stages(config.out).values()}
    if config.precision == AUTO and len(begun) == 1:
        return PrecisionChoice(precision=begun.pop(), why=f"as of the stages in {config.out}")
    if config.precision == AUTO and not begun and (kept := begun_precision(config.out)) is not None:
        return PrecisionChoice(precision=kept, why=f"as of what was interrupted in {config.out}")
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
    ride: Ride | None
    share: Share
    done: dict[float, SavedStage]  # what is on the disk, by fraction

    def run(self) -> Iterator[Event]:
        if self._crew is not None:
            yield Progressed(text=str(self._crew), stays=True)
            self._find_heads(self._crew)
        missing = self._missing()
        for fraction, saved in self.done.items():
            if fraction not in missing:
                yield Progressed(text=f"stage {saved.path} is there already: kept", stays=True)
                yield saved
        if 0.0 in missing:
            yield self._save(self._draft(0.0), load_base(self.location), np.zeros(0, np.uint64))
        if any(missing):
            yield from self._train_through(tuple(fraction for fraction in missing if fraction > 0))
        else:
            self.share.tell(None)
            if (ending := self._ending()) is not None:
                yield Progressed(text=ending, stays=True)
        whole = [saved.stage.steps for fraction, saved in self.done.items() if self._is_whole(fraction)]
        self._folder.forget(max(whole, default=0))

    @cached_property
    def _material(self) -> Material:
        checkpoint = load_untrained(self.location, self.task, seed=self.config.seed)
        checkpoint.model.to(self.device)
        return Material(checkpoint=checkpoint, task=self.task, dataset=self.dataset)

    @cached_property
    def _crew(self) -> Crew | None:
        return None if self.ride is None else Crew.of(self.ride, self._material, self.config.precision)

    @cached_property
    def _folder(self) -> TrainingFolder:
        settings = asdict(_settings_of(self.config, self.task, self.identity, self.dataset))
        riding = {} if self._crew is None else self._crew.to_json()
        digest = digest_json({**settings, "riding": riding})
        return TrainingFolder(self.config.out, digest, self.config.precision)

    def _find_heads(self, crew: Crew) -> None:
        """Those of stages that are there."""
        for fraction, saved in self.done.items():
            if fraction > 0:
                heads = find_heads(self.config.out, saved.stage, crew.ride, len(crew.heads))
                self.done[fraction] = replace(saved, heads=heads)

    def _missing(self) -> tuple[float, ...]:
        """Fractions in order, up to where heads no longer gain, as far as that is known."""
        missing: list[float] = []
        for fraction in self.config.marks:
            if not self._is_whole(fraction):
                missing.append(fraction)
            elif not any(missing) and self._has_ended(fraction):
                break
        return tuple(missing)

    def _is_whole(self, fraction: float) -> bool:
        saved = self.done.get(fraction)
        return saved is not None and (self.ride is None or fraction == 0 or saved.heads is not None)

    def _train_through(self, fractions: tuple[float, ...]) -> Iterator[Event]:
        yield Progressed(text=f"tokenising {self._material.rows} rows", stays=False)
        if (doubt := self._material.placement.doubt) is not None:
            yield Progressed(text=doubt, stays=True)
        model, windows = self._material.checkpoint.model, self._material.windows[Role.TRAIN]
        settings = self._training_settings()
        training = EncoderTraining(model, self.task, windows, settings, self.share)
        clock, riders = TrainingClock(), None if self._crew is None else self._crew.riders()
        saved = self._folder.find(before=training.plan.step_of(min(fractions)))
        self.share.tell(
            TrainingOrder(
                settings=settings, windows=windows, fractions=fractions, folder=self._folder, saved=saved
            )
        )
        if saved is not None:
            self._resume(saved, training, riders)
            clock = TrainingClock(saved.seconds, saved.step)
            yield Progressed(text=f"going on from step {saved.step:,}", stays=True)
        with riders or nullcontext():
            yield from self._go(training, riders, clock, fractions)

    def _go(
        self,
        training: EncoderTraining,
        riders: Riders | None,
        clock: TrainingClock,
        fractions: tuple[float, ...],
    ) -> Iterator[Event]:
        for step in training.steps(fractions, with_states=riders is not None):
            if riders is not None:
                riders.learn(step)
            clock.count(step)
            if clock.is_due():
                yield Progressed(text=clock.describe(step), stays=False)
            for fraction in step.reached:
                with clock.stopped():
                    self.done[fraction] = yield from self._reach(fraction, step, riders, clock)
                yield self.done[fraction]
            if step.reached and (ending := self._ending()) is not None:
                yield Progressed(text=ending, stays=True)
                return
            if step.number < step.total and (step.reached or self._folder.is_due()):
                with clock.stopped():
                    yield from self._keep(training, riders, clock)

    def _reach(
        self, fraction: float, step: Step, riders: Riders | None, clock: TrainingClock
    ) -> Generator[Progressed, None, SavedStage]:
        """Score and save what stands at a fraction. A stage that lacks but its heads stays as it is."""
        seconds = clock.seconds - (0.0 if riders is None else riders.seconds)
        seen = self._material.keys_of(step)
        draft = self._draft(fraction, steps=step.number, seconds=seconds, rows=len(seen))
        stage, heads = yield from self._score(draft, step, riders)
        saved = self.done.get(fraction)
        if saved is None:
            saved = self._save(stage, self._material.checkpoint, seen)
        elif saved.stage.weights != self._digest():
            raise OutputError(
                "was made by another machine, or with other libraries: its heads would not be of it",
                where=saved.path,
                expected=saved.stage.weights,
                do="choose another --out, or delete it",
            )
        if self._crew is None or riders is None:
            return saved
        return replace(saved, heads=self._crew.write(saved, heads, riders))

    def _score(
        self, draft: Stage, step: Step, riders: Riders | None
    ) -> Generator[Progressed, None, tuple[Stage, list[JudgedHead]]]:
        """What stands at a step: the encoder by itself, and in the same pass the heads that ride along."""
        windows = self._material.windows
        encoder = wrap(
            self._material.checkpoint, task=self.task, stage=None, predicts=True, device=self.device
        )
        standing = [] if self._crew is None or riders is None else self._crew.stand(riders, encoder, step)
        own: dict[Role, Evaluation] = {}
        verdicts: dict[Role, list[Verdict | None]] = {}
        for role in HELD:
            reading = (
                OwnReading(encoder, windows[role])
                if self._crew is None
                else self._crew.reading(encoder, windows[role], standing)
            )
            for read in reading.read():
                told = f"{read:,} of {windows[role].num_rows:,} {role} windows"
                yield Progressed(text=f"scoring stage {stage_name(draft.fraction)}: {told}", stays=False)
            own[role] = self.task.evaluate(windows[role], reading.own)
            verdicts[role] = reading.verdicts
        low, high = own[Role.REPORT].interval()
        metrics = {role.value: _metrics_of(evaluation) for role, evaluation in own.items()}
        stage = replace(draft, metrics=metrics, interval=(float(low), float(high)))
        return stage, judged(standing, verdicts)

    def _ending(self) -> str | None:
        """Why there is no more to do, where heads no longer gain."""
        fraction = next((each for each in self.config.marks if self._has_ended(each)), None)
        if fraction is None:
            return None
        scores = [score for score in self._best_scores(fraction) if score is not None]
        best = f"select stays at {max(scores):.4f}" if scores else "no head has a score"
        patience = self.config.until_heads_plateau
        return f"fine-tuning ends at {stage_name(fraction)}: {best}, {patience} stages without a better head"

    def _has_ended(self, fraction: float) -> bool:
        return is_plateau(self._best_scores(fraction), self.config.until_heads_plateau)

    def _best_scores(self, fraction: float) -> list[float | None]:
        """Of the best head at each stage that was asked for, up to this one; as far as none is missing."""
        asked = [each for each in self.config.marks if 0 < each <= fraction]
        stages = list(takewhile(lambda saved: saved is not None, map(self.done.get, asked)))
        return [stage.heads.score for stage in stages if stage is not None and stage.heads is not None]

    def _keep(
        self, training: EncoderTraining, riders: Riders | None, clock: TrainingClock
    ) -> Iterator[Progressed]:
        """What is interrupted from here on goes on here. A full disk costs no more than that."""
        shared, heads = ({}, {}) if riders is None else riders.state()
        state = TrainingState(encoder=training.state(), riders=shared, heads=heads)
        ride_seconds = 0.0 if riders is None else riders.seconds
        try:
            self._folder.keep(state, step=training.done, seconds=clock.seconds, ride_seconds=ride_seconds)
        except OutputError as error:
            yield Progressed(text=f"no checkpoint is kept, fine-tuning goes on without: {error}", stays=True)

    def _resume(self, saved: SavedTraining, training: EncoderTraining, riders: Riders | None) -> None:
        state = self._folder.load(saved)
        training.restore(state.encoder, saved.step)
        if riders is not None:
            riders.restore(state.riders, state.heads)
            riders.seconds = saved.ride_seconds

    def _training_settings(self) -> TrainingSettings:
        return TrainingSettings(
            learning_rate=self.config.learning_rate,
            batch=self.config.batch,
            seed=self.config.seed,
            precision=self.config.precision,
            accumulate=self.config.accumulate,
            checkpointing=self.config.checkpointing,
        )

    def _draft(self, fraction: float, *, steps: int = 0, seconds: float = 0.0, rows: int = 0) -> Stage:
        return Stage(
            task=self.task.to_json(),
            encoder=self.identity,
            fraction=fraction,
            seed=self.config.seed,
            learning_rate=self.config.learning_rate,
            batch=self.config.batch,
            precision=self.config.precision,
            parts=self.config.parts,
            values=values_of(self.task),
            steps=steps,
            rows=rows,
            data=self.dataset.digest,
            weights="",
            metrics={},
            interval=None,
            seconds=round(seconds, 3),
        )

    def _save(self, draft: Stage, checkpoint: Checkpoint, seen: np.ndarray) -> SavedStage:
        path = self.config.out / stage_name(draft.fraction)
        with folder_being_made(path) as folder:
            save_checkpoint(folder, checkpoint)
            stage = replace(draft, weights=digest_weights(folder))
            write_stage(folder, stage, seen)
        return SavedStage(path=path, stage=stage, kept=False)

    def _digest(self) -> str:
        """Of the weights as they are now, as a stage would have it."""
        with TemporaryDirectory(dir=self.config.out, prefix=".", suffix=".part") as folder:
            save_checkpoint(Path(folder), self._material.checkpoint)
            return digest_weights(Path(folder))


def _metrics_of(evaluation: Evaluation) -> Metrics:
    return {"score": float(evaluation.score)} | {
        name: float(value) for name, value in evaluation.metrics.items()
    }
