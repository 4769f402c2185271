"""Extraction against a bare forward loop over the same batches, and against padding to the maximum.

All arms read the same windows in the same precision. `extract` is what a worker does with planned blocks:
encode, narrow, put in place, write, fsync, digest, commit, take moments. `bare` runs the same batches, which
are sorted by length inside each block, and keeps nothing.
"""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch.nn.functional import pad

from bv_search.bench.arms import Arm, ratio, render, take_turns
from bv_search.bench.config import BenchConfig
from bv_search.bench.memory import resident
from bv_search.command import Progress, Result
from bv_search.encoder.batches import plan_inference, read_tokens
from bv_search.encoder.checkpoint import load_encoder
from bv_search.encoder.encoder import Encoder, Tokens, autocast, pad_batch
from bv_search.extract.config import ExtractConfig
from bv_search.extract.settings import StoreSettings, settle, survey_encoder, survey_hardware
from bv_search.source.channels import Channels
from bv_search.source.fill import fill_block
from bv_search.store.folder import open_folder
from bv_search.store.layout import ALL, LIMITS, BlockPlan, block_file, plan_blocks, seeded_order
from bv_search.store.statistics import Moments
from bv_search.store.writer import BlockForm, BlockWriter
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task

PADDED_BATCH = 16
"""Windows of a batch in the loop that pads: the usual way."""


@dataclass(frozen=True, kw_only=True)
class Work:
    """What all arms do their work on."""

    encoder: Encoder
    windows: pa.Table
    ids: list[Tokens]
    types: list[Tokens]
    lengths: np.ndarray
    settings: StoreSettings

    @cached_property
    def stored(self) -> np.ndarray:
        """Tokens that a window leaves in a store."""
        return self.lengths if self.settings.tokens == ALL else np.ones_like(self.lengths)

    @cached_property
    def plans(self) -> list[BlockPlan]:
        return plan_blocks(
            self.stored, self.lengths, len(self.settings.layers) * self.settings.width * 2, LIMITS
        )

    def batches(self) -> Iterator[np.ndarray]:
        """What extraction puts together: numbers of windows."""
        for plan in self.plans:
            lengths = self.lengths[plan.first : plan.first + plan.windows]
            for batch in plan_inference(lengths, tokens=self.settings.batch_tokens):
                yield plan.first + batch

    @property
    def tokens(self) -> float:
        return float(self.lengths.sum())

    @property
    def precision(self) -> torch.dtype:
        return self.settings.channels.forward


def run(asked: BenchConfig, progress: Progress) -> Result:
    torch.set_num_threads(asked.threads)
    work = prepare(asked)
    before = resident()
    with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
        arms: dict[str, Arm] = {
            "bare": lambda: bare(work),
            "extract": lambda: extract(work, folder),
            "bare padded to maximum": lambda: padded(work),
        }
        measured = take_turns(arms, unit="tokens", rounds=asked.rounds, progress=progress)
    ratios = {
        "extract / bare": ratio(measured, "extract", "bare"),
        "extract / bare padded to maximum": ratio(measured, "extract", "bare padded to maximum"),
        "bare / bare padded to maximum": ratio(measured, "bare", "bare padded to maximum"),
    }
    said: dict[str, Any] = {name: each.to_json() for name, each in measured.items()}
    taken = measured["extract"].peak - before
    said["extract"]["peak_bytes_above_encoder"] = taken
    lines = [
        f"{len(work.ids)} windows in {len(work.plans)} blocks, {work.tokens:,.0f} tokens, "
        f"{asked.threads} threads, {work.precision}",
        render(said, ratios),
        f"  extraction took {taken / 1e6:,.0f} MB beside the encoder",
    ]
    return Result(text="\n".join(lines), json={"arms": said, "ratios": ratios})


def prepare(asked: BenchConfig) -> Work:
    """A sample of the task's training windows, in the order of the store."""
    task = find_task(asked.task)
    config = ExtractConfig(
        task=asked.task, encoder=asked.required_encoder, out="", batch_tokens=asked.batch_tokens
    )
    settings = settle(config, task, survey_encoder(asked.required_encoder, task), survey_hardware(), "")
    encoder = load_encoder(asked.required_encoder, task=task)
    rows = load_dataset(task, asked.data).split("train").rows
    order = seeded_order(len(rows), 0, "train")[: asked.windows]
    windows = task.windows([rows[number] for number in order], encoder.tokenizer).slice(0, asked.windows)
    ids, types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
    lengths = np.array([len(tokens) for tokens in ids], np.int32)
    return Work(
        encoder=encoder,
        windows=windows,
        ids=list(ids),
        types=list(types),
        lengths=lengths,
        settings=settings,
    )


@torch.inference_mode()
def bare(work: Work) -> float:
    """Forward passes over the batches of extraction, whose results are dropped."""
    encoder = work.encoder
    with autocast(encoder.device, work.precision):
        for batch in work.batches():
            inputs = pad_batch(
                encoder.model, [work.ids[i] for i in batch], [work.types[i] for i in batch], encoder.device
            )
            encoder.model(**inputs, return_dict=True)
    _wait(encoder)
    return work.tokens


@torch.inference_mode()
def padded(work: Work) -> float:
    """The same, every window padded to the task's maximum; a part of them, since it takes long."""
    encoder, longest = work.encoder, int(work.settings.tokenizer["max_length"])
    tokens = 0
    with autocast(encoder.device, work.precision):
        for start in range(0, max(len(work.ids) // 4, 1), PADDED_BATCH):
            rows = range(start, min(start + PADDED_BATCH, len(work.ids)))
            inputs = pad_batch(
                encoder.model, [work.ids[i] for i in rows], [work.types[i] for i in rows], encoder.device
            )
            whole = {name: pad(each, (0, longest - each.shape[1])) for name, each in inputs.items()}
            encoder.model(**whole, return_dict=True)
            tokens += int(work.lengths[list(rows)].sum())
    _wait(encoder)
    return float(tokens)


def extract(work: Work, place: str) -> float:
    """What a worker does with the blocks of these windows."""
    chosen = work.settings
    form = BlockForm(layers=chosen.layers, width=chosen.width, dtype=chosen.dtype, format=chosen.format)
    folder, channels = open_folder(place), chosen.channels
    for plan in work.plans:
        _extract_block(work, plan, BlockTarget(folder=folder, form=form, channels=channels))
    return work.tokens


@dataclass(frozen=True, kw_only=True)
class BlockTarget:
    folder: Any
    form: BlockForm
    channels: Channels


def _extract_block(work: Work, plan: BlockPlan, target: BlockTarget) -> None:
    file = block_file("train", plan.number, target.form.format)
    lengths = work.stored[plan.first : plan.first + plan.windows]
    with BlockWriter(target.folder, file, target.form, lengths.tolist()) as block:
        windows = work.windows.slice(plan.first, plan.windows)
        fill_block(work.encoder, target.channels, windows, block, work.settings.batch_tokens)
        block.commit()
        Moments.of(block.hidden_LTH, target.form.dtype)


def _wait(encoder: Encoder) -> None:
    if encoder.device.type == "cuda":
        torch.cuda.synchronize(encoder.device)
