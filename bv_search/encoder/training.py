"""Fine-tuning: one pass through all the fractions, with a learning rate that knows nothing of the end.

The rate is constant after a warm-up whose length depends on the data alone, windows come in an order
that depends on the seed alone, and dropout draws from (seed, step): what stands at 0.3 epochs is the same
whether training stops there or goes on, and whatever is done with the model in between.

A step may be read in parts, one after another where memory is short, or each by a worker of its own. Their
gradients add up to those of the step, and dropout draws for each part by its number, whoever reads it.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from torch import Tensor
from transformers import PreTrainedModel

from bv_search.encoder.batches import Indices, TrainingPlan, read_tokens
from bv_search.encoder.encoder import (
    ALL_LAYERS,
    BaseOutput,
    Encoded,
    autocast,
    join_encoded,
    logits_of,
    pad_batch,
)
from bv_search.encoder.loss import LOSSES
from bv_search.encoder.pretrained import first_line
from bv_search.encoder.share import ALONE, Share
from bv_search.encoder.silence import silence
from bv_search.encoder.stage import RAW, STANDARD
from bv_search.encoder.unit import ONE, Unit, value_layer
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
    accumulate: int = 1  # parts that a worker reads its windows of a step in
    checkpointing: bool = False  # activations are not kept for the way back, but computed again


@dataclass(frozen=True, kw_only=True)
class Step:
    """A step that has been done."""

    number: int  # from 1
    total: int
    loss: float
    tokens: int  # of this step, without padding
    windows: Indices  # of this step
    states: Encoded | None  # its hidden states, dropout and all, where they are wanted; without gradients
    reached: tuple[float, ...]  # fractions of epochs that are done now and were not before
    met: Indices | None  # windows trained on up to here, when a fraction is reached


def train(
    model: PreTrainedModel,
    task: Task,
    windows: pa.Table,
    settings: TrainingSettings,
    fractions: Sequence[float],
) -> Iterator[Step]:
    """From the first step to the last fraction."""
    return EncoderTraining(model, task, windows, settings).steps(fractions)


class EncoderTraining:
    """A model that is fine-tuned in place. Where it was broken off, it goes on to the same bits."""

    def __init__(
        self,
        model: PreTrainedModel,
        task: Task,
        windows: pa.Table,
        settings: TrainingSettings,
        share: Share = ALONE,
    ) -> None:
        self.plan = make_plan(windows, settings)
        self.done = 0  # steps
        self._model, self._settings, self._share = model, settings, share
        if settings.checkpointing:
            checkpoint_activations(model)
        self._batches = _Batches(model, task, windows)
        self._unit = _give_unit(model, self._batches)
        self._optimiser = _build_optimiser(model, self._unit)

    def steps(self, fractions: Sequence[float], *, with_states: bool = False) -> Iterator[Step]:
        """Step by step; where a step says `reached`, the model stands at those fractions."""
        total = self.plan.step_of(max(fractions))
        batches = islice(self.plan.batches(until=total), self.done, None)
        self._model.train()
        for number, chosen in enumerate(batches, start=self.done + 1):
            try:
                loss, states = self._do_step(number, chosen, with_states=with_states)
            except torch.OutOfMemoryError as error:
                raise EncoderError(
                    f"step {number} takes more memory than {self._model.device} has",
                    found=first_line(error),
                    do="add --accumulate or --checkpointing: --dry-run says what each takes",
                ) from error
            if not math.isfinite(loss):
                raise EncoderError(
                    f"fine-tuning diverged at step {number}",
                    expected="a finite loss",
                    found=loss,
                    do=f"lower --learning-rate, which is {self._settings.learning_rate:g}",
                )
            self.done = number
            reached = tuple(fraction for fraction in fractions if self.plan.step_of(fraction) == number)
            yield Step(
                number=number,
                total=total,
                loss=loss,
                tokens=self._batches.count_tokens(chosen),
                windows=chosen,
                states=states,
                reached=reached,
                met=self.plan.met(until=number) if reached else None,
            )
            self._model.train()  # who looked at the model in between left dropout off

    def state(self) -> dict[str, Tensor]:
        """What the next step depends on, beside the number of those that are done. No copies."""
        named = dict(self._model.named_parameters())
        found = {f"weights/{name}": tensor.detach() for name, tensor in named.items()}
        buffers = dict(self._model.named_buffers())
        kept = buffers.keys() & self._model.state_dict().keys()  # the others are as the configuration says
        found |= {f"buffers/{name}": buffers[name] for name in sorted(kept)}
        for name, parameter in named.items():
            for part, tensor in self._optimiser.state.get(parameter, {}).items():
                found[f"{part}/{name}"] = tensor
        return found

    @torch.no_grad()
    def restore(self, state: Mapping[str, Tensor], done: int) -> None:
        """Go on from a state that was kept after so many steps."""
        named, buffers = dict(self._model.named_parameters()), dict(self._model.named_buffers())
        for key, tensor in state.items():
            part, _, name = key.partition("/")
            if part in ("weights", "buffers"):
                (named if part == "weights" else buffers)[name].copy_(tensor)
            else:
                # the count of steps stands where the fused optimiser wants it: beside the weights
                self._optimiser.state[named[name]][part] = tensor.to(self._model.device)
        self.done = done

    def _do_step(self, number: int, chosen: Indices, *, with_states: bool) -> tuple[float, Encoded | None]:
        _set_rate(self._optimiser, self._settings.learning_rate, number, self.plan.steps_per_epoch)
        parameters = list(self._model.parameters())
        self._optimiser.zero_grad(set_to_none=True)
        losses, states = [], []
        for part in self._share.parts_of(chosen, self._settings.accumulate):
            seed = _seed_of(self._settings.seed, number, part.number)
            loss, base = self._read(part.windows, seed, with_states=with_states)
            loss.backward(torch.full_like(loss, part.weight))  # type: ignore[no-untyped-call]
            losses.append(loss.detach() * part.weight)
            if with_states:
                states.append(base.encoded(self._batches.lengths(part.windows)))
        loss = torch.stack(losses).sum()
        self._share.add_up([loss, *(each.grad for each in parameters if each.grad is not None)])
        _take_unit(self._optimiser)
        torch.nn.utils.clip_grad_norm_(parameters, GRADIENT_NORM)
        self._optimiser.step()
        return float(loss), join_encoded(states) if with_states else None

    def _read(self, windows: Indices, seed: int, *, with_states: bool) -> tuple[Tensor, BaseOutput]:
        model = self._model
        inputs, labels = self._batches.read(windows)
        cuda = [model.device] if model.device.type == "cuda" else []
        with torch.random.fork_rng(devices=cuda), autocast(model.device, dtype_of(self._settings.precision)):
            torch.manual_seed(seed)
            output, base = run(model, inputs, with_states=with_states)
        return loss_of(output, self._batches.task, inputs, labels, self._unit), base


def run(
    model: PreTrainedModel, inputs: dict[str, Tensor], *, with_states: bool = False
) -> tuple[Any, BaseOutput]:
    """What a model gives, and the encoder inside it, with all that gradients need."""
    with BaseOutput(model) as base, silence():  # transformers tells what checkpointing does without
        output = model(**inputs, return_dict=True, **(ALL_LAYERS if with_states else {}))
    return output, base


def loss_of(output: Any, task: Task, inputs: dict[str, Tensor], labels: Tensor, unit: Unit = ONE) -> Tensor:
    logits, deviation = logits_of(output, task).float(), unit.deviation
    return LOSSES[task.kind](logits / deviation, labels / deviation, inputs["attention_mask"])


def checkpoint_activations(model: PreTrainedModel) -> None:
    """What each layer computes is forgotten, and computed again when its gradients are."""
    if not model.supports_gradient_checkpointing:
        raise EncoderError(
            "cannot compute its activations again",
            where=type(model).__name__,
            expected="an encoder with gradient checkpointing",
            do="leave --checkpointing out: --accumulate takes less memory too",
        )
    # which versions of transformers name differently
    enable = getattr(model, "activation_checkpointing_enable", None) or model.gradient_checkpointing_enable
    enable({"use_reentrant": False})


def make_plan(windows: pa.Table, settings: TrainingSettings) -> TrainingPlan:
    lengths = tuple(windows.column("length").to_pylist())
    return TrainingPlan(lengths=lengths, batch=settings.batch, seed=settings.seed)


class _Batches:
    """Windows as tensors on the model's device, a batch at a time."""

    def __init__(self, model: PreTrainedModel, task: Task, windows: pa.Table) -> None:
        self._model, self.task = model, task
        self._ids, self._types = read_tokens(windows, "token_ids"), read_tokens(windows, "type_ids")
        self.labels = np.array(windows.column("label").to_pylist(), dtype=np.float32)

    def read(self, chosen: Indices) -> tuple[dict[str, Tensor], Tensor]:
        device = self._model.device
        ids, types = [self._ids[i] for i in chosen], [self._types[i] for i in chosen]
        return pad_batch(self._model, ids, types, device), torch.from_numpy(self.labels[chosen]).to(device)

    def lengths(self, chosen: Indices) -> tuple[int, ...]:
        return tuple(len(self._ids[i]) for i in chosen)

    def count_tokens(self, chosen: Indices) -> int:
        return sum(self.lengths(chosen))


def values_of(task: Task) -> str:
    """How they are learned, where a task has any."""
    return STANDARD if task.is_number else RAW


def _give_unit(model: PreTrainedModel, batches: _Batches) -> Unit:
    """That of the values, to a model that has not learned yet."""
    if values_of(batches.task) == RAW:
        return ONE
    unit = Unit.of(batches.labels)
    unit.give(value_layer(model))
    return unit


def _build_optimiser(model: PreTrainedModel, unit: Unit) -> torch.optim.Optimizer:
    in_unit = [] if unit is ONE else list(value_layer(model).parameters())
    own = {id(parameter) for parameter in in_unit}
    groups = [{"params": [each for each in model.parameters() if id(each) not in own], "unit": 1.0}]
    if in_unit:
        groups.append({"params": in_unit, "unit": unit.deviation})
    return torch.optim.Adam(groups, fused=True)


def _take_unit(optimiser: torch.optim.Optimizer) -> None:
    """From gradients: they become those of layers that answer in deviations."""
    for group in optimiser.param_groups:
        if group["unit"] != 1.0:
            for parameter in group["params"]:
                parameter.grad.mul_(group["unit"])


def _set_rate(optimiser: torch.optim.Optimizer, rate: float, step: int, steps_per_epoch: int) -> None:
    warmup = min(WARMUP_STEPS, math.ceil(WARMUP_EPOCHS * steps_per_epoch))
    for group in optimiser.param_groups:
        group["lr"] = rate * group["unit"] * min(1.0, step / warmup)


def _seed_of(seed: int, step: int, part: int) -> int:
    """Of a part, whatever number of them there is."""
    drawn = np.random.SeedSequence([seed, step]).generate_state(part + 1, np.uint64)
    return int(drawn[part] >> np.uint64(1))
