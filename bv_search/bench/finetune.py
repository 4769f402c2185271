"""Fine-tuning against the loop that one writes first: every window padded to the task's maximum, 32 bits.

All arms take the same windows, a step each of the same size, and count tokens without padding.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from bv_search.bench.arms import Arm, ratio, render, take_turns
from bv_search.bench.config import BenchConfig
from bv_search.command import Progress, Result
from bv_search.encoder.batches import read_tokens
from bv_search.encoder.checkpoint import Checkpoint, load_untrained
from bv_search.encoder.encoder import logits_of, pad_batch
from bv_search.encoder.location import locate_encoder
from bv_search.encoder.loss import LOSSES
from bv_search.encoder.training import TrainingSettings, train
from bv_search.precision import BFLOAT16, FLOAT32
from bv_search.store.layout import seeded_order
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.task import Task

SETTINGS = TrainingSettings()


@dataclass(frozen=True, kw_only=True)
class Sample:
    """An encoder, and a sample of the task's training windows."""

    checkpoint: Checkpoint
    task: Task
    windows: pa.Table

    @property
    def tokens(self) -> float:
        return float(sum(self.windows.column("length").to_pylist()))


def run(asked: BenchConfig, progress: Progress) -> Result:
    torch.set_num_threads(asked.threads)
    sample = _prepare(asked)
    arms: dict[str, Arm] = {
        "padded to maximum": partial(_run_padded, sample),
        **{f"finetune, {each}": partial(_run_ours, sample, each) for each in (FLOAT32, BFLOAT16)},
    }
    measured = take_turns(arms, unit="tokens", rounds=asked.rounds, progress=progress)
    ratios = {
        f"{arm} / padded to maximum": ratio(measured, arm, "padded to maximum") for arm in list(arms)[1:]
    }
    said: dict[str, Any] = {name: each.to_json() for name, each in measured.items()}
    about = f"{sample.windows.num_rows} windows, {sample.tokens:,.0f} tokens, {asked.threads} threads"
    return Result(text=f"{about}\n{render(said, ratios)}", json={"arms": said, "ratios": ratios})


def _prepare(asked: BenchConfig) -> Sample:
    task = find_task(asked.task)
    checkpoint = load_untrained(locate_encoder(asked.required_encoder), task, seed=0)
    rows = load_dataset(task, asked.data).split("train").rows
    order = seeded_order(len(rows), 0, "train")[: asked.windows]
    windows = task.windows([rows[number] for number in order], checkpoint.tokenizer).slice(0, asked.windows)
    return Sample(checkpoint=checkpoint, task=task, windows=windows)


def _run_ours(sample: Sample, precision: str) -> float:
    settings = replace(SETTINGS, precision=precision)
    steps = train(sample.checkpoint.model, sample.task, sample.windows, settings, [1.0])
    return float(sum(step.tokens for step in steps))


def _run_padded(sample: Sample) -> float:
    model, task = sample.checkpoint.model, sample.task
    optimiser = torch.optim.AdamW(model.parameters(), lr=SETTINGS.learning_rate)
    model.train()
    for inputs, labels in _padded_batches(sample):
        logits = logits_of(model(**inputs, return_dict=True), task)
        loss = LOSSES[task.kind](logits, labels, inputs["attention_mask"])
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
    return sample.tokens


def _padded_batches(sample: Sample) -> Iterator[tuple[dict[str, torch.Tensor], torch.Tensor]]:
    """In the order of the rows."""
    model, longest = sample.checkpoint.model, sample.task.max_length
    ids, types = read_tokens(sample.windows, "token_ids"), read_tokens(sample.windows, "type_ids")
    labels = np.array(sample.windows.column("label").to_pylist(), np.float32)
    for start in range(0, len(ids), SETTINGS.batch):
        here = slice(start, start + SETTINGS.batch)
        inputs = pad_batch(model, ids[here], types[here], model.device)
        wide = {name: torch.nn.functional.pad(x, (0, longest - x.shape[1])) for name, x in inputs.items()}
        yield wide, torch.from_numpy(labels[here])
