"""What the demonstration makes once and keeps under a digest of its settings: data, encoder, stage, store."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path

import torch

from bv_search.command import Progress
from bv_search.demo.encoder import EncoderSettings, build_encoder
from bv_search.demo.pretraining import PretrainingSettings, PretrainingStep
from bv_search.demo.text import TextSettings, write_text
from bv_search.extract import extraction
from bv_search.extract.config import ExtractConfig
from bv_search.files import cache_folder, digest_json
from bv_search.finetune import finetuning
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.stage_folder import SavedStage
from bv_search.run.lock import exclusive
from bv_search.store.layout import MANIFEST

TASK = "squad2-span"
EDITION = 1  # to be raised when the same settings come to make other things
MADE_BY = ("torch", "transformers", "tokenizers")
MAKING_SECONDS = 900.0  # that another process may take to make the same


@dataclass(frozen=True, kw_only=True)
class DemoSettings:
    """All that decides what is made."""

    text: TextSettings = field(default_factory=TextSettings)
    encoder: EncoderSettings = field(default_factory=EncoderSettings)
    pretraining: PretrainingSettings = field(default_factory=PretrainingSettings)
    fraction: float = 0.1  # of an epoch: the stage that heads are searched on
    whole: float = 1.0  # epochs of the stage to compare them with
    learning_rate: float = 2e-3  # of fine-tuning; of five from 3e-4 to 3e-3 the encoder's best at `fraction`
    edition: int = EDITION
    made_by: tuple[str, ...] = tuple(f"{name} {version(name)}" for name in MADE_BY)


@dataclass(frozen=True, kw_only=True)
class DemoCache:
    folder: Path
    data: Path
    encoder: Path
    stage: SavedStage
    whole: SavedStage  # the same encoder, fine-tuned for longer
    store: Path


def folder_of(settings: DemoSettings) -> Path:
    digest = digest_json(asdict(settings)).removeprefix("xxh3:")[:16]
    return cache_folder() / f"demo-{digest}"


def provide(settings: DemoSettings, progress: Progress) -> DemoCache:
    """Make what is not there yet. Each part is whole or absent, so an interrupted making goes on."""
    folder = folder_of(settings)
    with exclusive(folder / ".lock", wait=MAKING_SECONDS):
        data = _data(folder / "data", settings, progress)
        with one_thread():
            encoder = _encoder(folder / "encoder", data, settings, progress)
            stage, whole = _stages(folder / "stages", encoder, data, settings, progress)
        store = _store(folder / "store", stage, data, progress)
    return DemoCache(folder=folder, data=data, encoder=encoder, stage=stage, whole=whole, store=store)


@contextmanager
def one_thread() -> Iterator[None]:
    """So small an encoder gains nothing from more, loses where cores are shared, and comes out another."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _data(place: Path, settings: DemoSettings, progress: Progress) -> Path:
    if not place.is_dir():
        progress.say(f"1 of 6, text: passages of facts, questions with and without an answer → {place}")
        write_text(place, settings.text)
    return place


def _encoder(place: Path, data: Path, settings: DemoSettings, progress: Progress) -> Path:
    if place.is_dir():
        return place
    shape, steps = settings.encoder, settings.pretraining.steps
    progress.say(
        f"2 of 6, encoder: a BERT of {shape.layers} layers, {shape.width} wide, from scratch → {place}"
    )

    def tell(step: PretrainingStep) -> None:
        progress.update(
            f"pre-training: step {step.number} of {steps}, loss {step.loss:.2f}, {step.right:.0%} answered"
        )

    return build_encoder(place, data, shape, settings.pretraining, tell)


def _stages(
    place: Path, encoder: Path, data: Path, settings: DemoSettings, progress: Progress
) -> list[SavedStage]:
    fractions = (settings.fraction, settings.whole)
    progress.say(f"3 of 6, finetune: {fractions[0]:g} epochs, and {fractions[1]:g} to compare with → {place}")
    config = FinetuneConfig(
        task=TASK,
        encoder=str(encoder),
        fractions=fractions,
        out=place,
        data=str(data),
        learning_rate=settings.learning_rate,
    )
    return finetuning.run(config, progress)


def _store(place: Path, stage: SavedStage, data: Path, progress: Progress) -> Path:
    if (place / MANIFEST).is_file():  # written last: the store is whole
        return place
    progress.say(f"4 of 6, extract: the hidden states of every layer → {place}")
    config = ExtractConfig(task=TASK, encoder=str(stage.path), out=str(place), data=str(data))
    extraction.run(config, progress)
    return place
