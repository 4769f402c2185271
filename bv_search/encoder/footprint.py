"""The memory that a step of fine-tuning takes, counted without taking it: on torch's meta device.

A tensor has a shape there, and no numbers. So a forward and a backward pass of any encoder say within a
second what they would keep: in 32 bits, with plain attention. 16 bits and a GPU's fused attention keep less.
"""

import weakref
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from transformers import PreTrainedConfig, PreTrainedModel

from bv_search.encoder.encoder import logits_of, pad_batch
from bv_search.encoder.silence import silence
from bv_search.encoder.training import TrainingSettings, checkpoint_activations, run
from bv_search.precision import FLOAT32
from bv_search.tasks.task import Task

NUMBER_BYTES = 4
OPTIMISER_NUMBERS = 2  # of each weight: Adam's running means of its gradient and of the square of it
META = torch.device("meta")


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """Bytes on the device of a worker."""

    weights: int
    gradients: int
    optimiser: int
    copies: int  # of weights in 16 bits, that products of these bits are made with
    activations: int  # at most

    @property
    def total(self) -> int:
        return self.weights + self.gradients + self.optimiser + self.copies + self.activations


def count_footprint(
    config: PreTrainedConfig, task: Task, settings: TrainingSettings, *, windows: int, tokens: int
) -> Footprint:
    """Of a step, or a part of it, that reads so many windows of so many tokens at once."""
    config = deepcopy(config)
    config.update(task.model_settings)
    with META, silence():
        model = getattr(transformers, task.model_class).from_config(config).train()
    if settings.checkpointing:
        checkpoint_activations(model)
    weights = NUMBER_BYTES * sum(parameter.numel() for parameter in model.parameters())
    return Footprint(
        weights=weights,
        gradients=weights,
        optimiser=weights * OPTIMISER_NUMBERS,
        copies=0 if settings.precision == FLOAT32 else weights // 2,
        activations=_count_activations(model, task, windows, tokens),
    )


def _count_activations(model: PreTrainedModel, task: Task, windows: int, tokens: int) -> int:
    """The most that is there at once, beside weights and their gradients."""
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(_forget_gradient)
    blank = [np.zeros(tokens, np.int64)] * windows
    inputs = pad_batch(model, blank, blank, META)
    with _Counting([*model.parameters(), *model.buffers()]) as counting:
        output, _ = run(model, inputs)
        logits_of(output, task).float().sum().backward()  # type: ignore[no-untyped-call]
    peak: int = counting.peak
    return peak


def _forget_gradient(parameter: Tensor) -> None:
    parameter.grad = None


class _Counting(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """The bytes of all tensors that are made inside, as long as each is held by anything."""

    def __init__(self, there: Sequence[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.peak = self._now = 0
        self._known: dict[int, Any] = {_storage(tensor)._cdata: None for tensor in there}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten._local_scalar_dense.default:
            return 0  # asked whether a mask hides nothing: as if some of it were padding
        out = func(*args, **(kwargs or {}))
        for made in tree_leaves(out):
            if isinstance(made, Tensor):
                self._add(_storage(made))
        return out

    def _add(self, storage: torch.UntypedStorage) -> None:
        key, size = storage._cdata, storage.nbytes()
        if key not in self._known:
            self._known[key] = weakref.finalize(storage, self._drop, key, size)
            self._now += size
            self.peak = max(self.peak, self._now)

    def _drop(self, key: int, size: int) -> None:
        del self._known[key]
        self._now -= size


def _storage(tensor: Tensor) -> torch.UntypedStorage:
    return tensor.untyped_storage()
