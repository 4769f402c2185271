"""A worker that trains along with the first one: it reads its part of each step, and writes nothing."""

from dataclasses import dataclass

import pyarrow as pa

from bv_search.encoder.checkpoint import find_device, load_untrained
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.share import Share
from bv_search.encoder.training import EncoderTraining, TrainingSettings
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.saved_training import SavedTraining, TrainingFolder
from bv_search.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class TrainingOrder:
    """What the first worker tells the others, once it knows: how all of them train."""

    settings: TrainingSettings
    windows: pa.Table  # of the whole training data
    fractions: tuple[float, ...]
    folder: TrainingFolder  # on a disk that all can read, with …
    saved: SavedTraining | None  # … where to go on from


def follow(config: FinetuneConfig, task: Task, share: Share) -> None:
    """To the last step."""
    order: TrainingOrder | None = share.hear()
    if order is None:
        return
    checkpoint = load_untrained(locate_encoder(config.encoder), task, seed=config.seed)
    checkpoint.model.to(find_device(config.device))
    training = EncoderTraining(checkpoint.model, task, order.windows, order.settings, share)
    if order.saved is not None:
        training.restore(order.folder.load(order.saved).encoder, order.saved.step)
    for _ in training.steps(order.fractions):
        pass
