"""Fine-tuning: one pass through all the fractions, with a learning rate that knows nothing of the end.

The rate is constant after a warm-up whose length depends on the data alone, windows come in an order
that depends on the seed alone, and dropout draws from (seed, step): what stands at 0.3 epochs is the same
whether training stops there or goes on, and whatever is done with the model in between.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from transformers import PreTrainedModel

from bv_search.encoder.batches import Indices, TrainingPlan, read_tokens
from bv_search.encoder.encoder import autocast, logits_of, pad_batch
from bv_search.encoder.loss import LOSSES
from bv_search.errors import EncoderError
from bv_search.precision import FLOAT32, dtype_of
from bv_search.tasks.task import Task

WARMUP_EPOCHS, WARMUP_STEPS = 0.1, 100  # whichever is shorter
GRADIENT_NORM = 1.0


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How an encoder is fine-tuned."""

    learning_rate: float = 2e-5  # after warm-up
    batch: int = 8  # windows per step
    seed: int = 0
    precision: str = FLOAT32  # of matrix products; weights and their optimiser keep 32 bits


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step that has been done."""

    number: int  # from 1
    total: int
    loss: float
    tokens: int  # of this step, without padding
    reached: tuple[float, ...]  # fractions of epochs that are done now and were not before
    met: Indices | None  # windows trained on up to here, when a fraction is reached


def train(
    model: PreTrainedModel,
    task: Task,
    windows: pa.Table,
    settings: TrainingSettings,
    fractions: Sequence[float],
) -> Iterator[Step]:
    """Fine-tune `model` in place, step by step; where a step says `reached`, it stands at those fractions."""
    plan = make_plan(windows, settings)
    total = plan.step_of(max(fractions))
    optimiser = _build_optimiser(model, settings)
    batches = _Batches(model, task, windows)
    model.train()
    for number, chosen in enumerate(plan.batches(until=total), start=1):
        _set_rate(optimiser, settings.learning_rate, number, plan.steps_per_epoch)
        seed = _seed_of(settings.seed, number)
        loss = _do_step(model, batches, optimiser, chosen, seed=seed, dtype=dtype_of(settings.precision))
        if not math.isfinite(loss):
            raise EncoderError(
                f"fine-tuning diverged at step {number}",
                expected="a finite loss",
                found=loss,
                do=f"lower --learning-rate, which is {settings.learning_rate:g}",
            )
        reached = tuple(fraction for fraction in fractions if plan.step_of(fraction) == number)
        yield Step(
            number=number,
            total=total,
            loss=loss,
            tokens=batches.count_tokens(chosen),
            reached=reached,
            met=plan.met(until=number) if reached else None,
        )
        model.train()  # who looked at the model in between left dropout off


def make_plan(windows: pa.Table, settings: TrainingSettings) -> TrainingPlan:
    lengths = tuple(windows.column("length").to_pylist())
    return TrainingPlan(lengths=lengths, batch=settings.batch, seed=settings.seed)


class _Batches:
    """Windows as tensors on the model's device, a batch at a time."""

    def __init__(self, model: PreTrainedModel, task: Task, windows: pa.Table) -> None:
        self._model, self.task = model, task
        self._ids, self._types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
        self._labels = np.array(windows.column("label").to_pylist(), dtype=np.float32)

    def read(self, chosen: Indices) -> tuple[dict[str, Tensor], Tensor]:
        device = self._model.device
        ids, types = [self._ids[i] for i in chosen], [self._types[i] for i in chosen]
        return pad_batch(self._model, ids, types, device), torch.from_numpy(self._labels[chosen]).to(device)

    def count_tokens(self, chosen: Indices) -> int:
        return sum(len(self._ids[i]) for i in chosen)


def _do_step(
    model: PreTrainedModel,
    batches: _Batches,
    optimiser: torch.optim.Optimizer,
    chosen: Indices,
    *,
    seed: int,
    dtype: torch.dtype,
) -> float:
    inputs, labels = batches.read(chosen)
    cuda = [model.device] if model.device.type == "cuda" else []
    with torch.random.fork_rng(devices=cuda):
        torch.manual_seed(seed)
        with autocast(model.device, dtype):
            output = model(**inputs, return_dict=True)
        logits = logits_of(output, batches.task).float()
    loss = LOSSES[batches.task.kind](logits, labels, inputs["attention_mask"])
    optimiser.zero_grad(set_to_none=True)
    loss.backward()  # type: ignore[no-untyped-call]
    torch.nn.utils.clip_grad_norm_(model.parameters(), GRADIENT_NORM)
    optimiser.step()
    return float(loss.detach())


def _build_optimiser(model: PreTrainedModel, settings: TrainingSettings) -> torch.optim.Optimizer:
    return torch.optim.Adam(model.parameters(), lr=settings.learning_rate, fused=True)


def _set_rate(optimiser: torch.optim.Optimizer, rate: float, step: int, steps_per_epoch: int) -> None:
    warmup = min(WARMUP_STEPS, math.ceil(WARMUP_EPOCHS * steps_per_epoch))
    for group in optimiser.param_groups:
        group["lr"] = rate * min(1.0, step / warmup)


def _seed_of(seed: int, step: int) -> int:
    return int(np.random.SeedSequence([seed, step]).generate_state(1, np.uint64)[0] >> np.uint64(1))
