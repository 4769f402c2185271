"""What this machine does in a second, measured on the encoder and the data before anything is made."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import torch

from bv_search.command import AUTO, Progress
from bv_search.encoder.checkpoint import Checkpoint, find_device, load_encoder, load_untrained
from bv_search.encoder.encoder import Encoder
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.training import EncoderTraining, TrainingSettings
from bv_search.finetune.quote import time_steps
from bv_search.heads.config import HeadShape
from bv_search.precision import BFLOAT16, choose_precision
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MICRO_BATCH
from bv_search.store.recompute import rate_of
from bv_search.study.config import StudiesConfig
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role, Row
from bv_search.tasks.task import Task
from bv_search.tune.dry_run import seconds_per_batch

SAMPLE = 128  # rows that are read for a rate
TOGETHER = 8  # heads that are measured in one pack


@dataclass(frozen=True, kw_only=True)
class MachineRates:
    """Sizes of the data, and what one process does in a second."""

    windows: Mapping[Role, float]
    tokens: float  # of a window
    finetune: float  # windows a second
    encode: float  # tokens a second, of one core
    cores: int
    shape: HeadShape
    one_token: bool
    encoder_parameters: int
    encoder_bytes: int

    @property
    def stored_tokens(self) -> float:
        """Of a window."""
        return 1.0 if self.one_token else self.tokens

    @property
    def token_bytes(self) -> int:
        return self.shape.layers * self.shape.width * 2

    def seconds_of(self, heads: Sequence[TrialConfig]) -> float:
        """Of all these heads together, for one window, on all cores."""
        with _on_one_core():
            return sum(self._of_pack(list(pack)) for pack in _packs(heads)) / self.cores

    def _of_pack(self, pack: Sequence[TrialConfig]) -> float:
        """One-token heads take a whole batch at once, the others micro-batch by micro-batch."""
        windows = pack[0].training.batch if self.one_token else MICRO_BATCH
        tokens = max(1, round(self.stored_tokens))
        heads = [each.head for each in pack]
        return seconds_per_batch(heads, self.shape, tokens, windows=windows) * len(pack) / windows


def _packs(heads: Sequence[TrialConfig]) -> Iterator[Sequence[TrialConfig]]:
    for start in range(0, len(heads), TOGETHER):
        yield heads[start : start + TOGETHER]


def measure(config: StudiesConfig, progress: Progress) -> MachineRates:
    """It takes some seconds: a few steps, a few batches."""
    progress.update("measuring what this machine does in a second")
    task, location = find_task(config.task), locate_encoder(config.encoder)
    splits = load_dataset(task, config.data).splits
    rows = {role: [row for split in splits if split.role == role for row in split.rows] for role in Role}
    encoder = load_encoder(config.encoder, task=task)
    sample = _windows(task, rows[Role.TRAIN], encoder)
    per_row = sample.num_rows / min(SAMPLE, len(rows[Role.TRAIN]))
    one_token = not task.per_token
    checkpoint = load_untrained(location, task, seed=0)
    # a stage has the pooler of its task, an encoder as it comes may have none
    has_pooler = getattr(checkpoint.model.base_model, "pooler", None) is not None
    layers = encoder.layers + (1 if one_token and has_pooler else 0)
    precision = choose_precision(AUTO, encoder.device).precision
    with _on_one_core():
        encode = rate_of(encoder, sample, precision)
    return MachineRates(
        windows={role: len(of_role) * per_row for role, of_role in rows.items()},
        tokens=sum(sample["length"].to_pylist()) / sample.num_rows,
        finetune=_finetune_rate(config, checkpoint, task, sample),
        encode=encode,
        cores=len(os.sched_getaffinity(0)),
        shape=HeadShape(
            layers=layers,
            width=encoder.width,
            outputs=task.outputs,
            per_token=not one_token,
            tokens=1 if one_token else task.max_length,
        ),
        one_token=one_token,
        encoder_parameters=encoder.parameters,
        encoder_bytes=sum(file.stat().st_size for file in Path(location.folder).iterdir() if file.is_file()),
    )


def _windows(task: Task, rows: Sequence[Row], encoder: Encoder) -> pa.Table:
    """Of rows from all over."""
    return task.windows(rows[:: max(1, len(rows) // SAMPLE)][:SAMPLE], encoder.tokenizer)


def _finetune_rate(config: StudiesConfig, checkpoint: Checkpoint, task: Task, sample: pa.Table) -> float:
    """Windows a second."""
    settings = config.finetuning()
    device = find_device(settings.device)
    precision = choose_precision(AUTO, device, among=(BFLOAT16,)).precision
    checkpoint.model.to(device)
    training = TrainingSettings(batch=settings.batch, precision=precision)
    met, spent = time_steps(EncoderTraining(checkpoint.model, task, sample, training))
    return sum(map(len, met)) / spent


@contextmanager
def _on_one_core() -> Iterator[None]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)
