"""An encoder in memory: hidden states of every layer, and its own predictions.

Shapes: L layers (the embeddings and every layer), B windows of a batch, S tokens with padding, H width,
C outputs.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from bv_search.encoder.identity import EncoderIdentity
from bv_search.encoder.stage import Stage
from bv_search.tasks.task import Task

if TYPE_CHECKING:  # seconds of imports, which whoever only names an encoder does without
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

ALL_LAYERS = {"output_hidden_states": True}
Tokens = Sequence[int] | npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """What one forward pass gives. Positions from a window's length on are padding, and mean nothing."""

    layers: tuple[Tensor, ...]  # hidden_BSH of the embeddings and of every layer
    pooler_BH: Tensor | None
    logits: Tensor | None  # (B, S, 2) for spans, (B, C) otherwise; None where the encoder predicts nothing
    lengths: tuple[int, ...]

    @property
    def hidden_LBSH(self) -> Tensor:
        """All layers in one tensor: a copy."""
        return torch.stack(self.layers)


def join_encoded(parts: Sequence[Encoded]) -> Encoded:
    """The windows of several batches as those of one, padded to the longest of all. No copy of one alone."""
    if len(parts) == 1:
        return parts[0]
    poolers = [part.pooler_BH for part in parts if part.pooler_BH is not None]
    assert all(part.logits is None for part in parts), "of hidden states alone"
    return Encoded(
        layers=tuple(_join(layers) for layers in zip(*(part.layers for part in parts), strict=True)),
        pooler_BH=torch.cat(poolers) if poolers else None,
        logits=None,
        lengths=tuple(length for part in parts for length in part.lengths),
    )


def _join(parts: Sequence[Tensor]) -> Tensor:
    """hidden_BSH of all windows."""
    longest = max(part.shape[1] for part in parts)
    return torch.cat([nn.functional.pad(part, (0, 0, 0, longest - part.shape[1])) for part in parts])


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoder:
    """A pre-trained encoder, fine-tuned (a stage) or not."""

    identity: EncoderIdentity
    folder: Path
    tokenizer: "PreTrainedTokenizerBase"
    model: "PreTrainedModel"
    layers: int  # hidden layers and the embeddings below them
    width: int
    parameters: int  # of the encoder itself, its pooler counted, task heads not
    has_pooler: bool
    task: Task | None
    stage: Stage | None
    predicts: bool  # whether it has predictions of its own: only fine-tuning gives it any
    device: torch.device

    @torch.no_grad()  # not inference_mode: heads are trained on these tensors
    def encode(
        self, token_ids: Sequence[Tokens], type_ids: Sequence[Tokens], *, dtype: torch.dtype | None = None
    ) -> Encoded:
        """All hidden states of a batch, padded to its longest window; `dtype` for autocast."""
        inputs = pad_batch(self.model, token_ids, type_ids, self.device)
        with autocast(self.device, dtype):
            layers, pooler_BH, logits = self.run(inputs)
        lengths = tuple(len(ids) for ids in token_ids)
        return Encoded(layers=layers, pooler_BH=pooler_BH, logits=logits, lengths=lengths)

    def run(self, inputs: dict[str, Tensor]) -> tuple[tuple[Tensor, ...], Tensor | None, Tensor | None]:
        """The layers, pooler and logits of `Encoded`, of a batch that is padded."""
        with BaseOutput(self.model) as base:
            output = self.model(**inputs, **ALL_LAYERS, return_dict=True)
        layers = tuple(base.output["hidden_states"])
        assert len(layers) == self.layers, f"{len(layers)} hidden states of {self.layers}"
        pooler_BH = base.output.get("pooler_output") if self.has_pooler else None
        return layers, pooler_BH, logits_of(output, self.task) if self.predicts else None

    @torch.inference_mode()
    def predict(
        self, token_ids: Sequence[Tokens], type_ids: Sequence[Tokens], *, dtype: torch.dtype | None = None
    ) -> Tensor:
        """The encoder's own logits of a batch, float32, without keeping hidden states."""
        assert self.predicts, "an encoder that was never fine-tuned predicts nothing"
        inputs = pad_batch(self.model, token_ids, type_ids, self.device)
        with autocast(self.device, dtype):
            return logits_of(self.model(**inputs, return_dict=True), self.task).float()


class BaseOutput:
    """Catches what the encoder inside a model gives: models with task heads drop the pooler's output."""

    def __init__(self, model: "PreTrainedModel") -> None:
        self._base: nn.Module = model.base_model
        self.output: Any = None

    def __enter__(self) -> "BaseOutput":
        self._handle = self._base.register_forward_hook(self._catch)
        return self

    def _catch(self, module: nn.Module, inputs: object, output: object) -> None:
        self.output = output

    def __exit__(self, *exception: object) -> None:
        self._handle.remove()

    def encoded(self, lengths: tuple[int, ...], logits: Tensor | None = None) -> Encoded:
        """Hidden states without gradients, where the model was asked for them by `ALL_LAYERS`."""
        pooler_BH = self.output.get("pooler_output")  # none where the encoder has no pooler
        return Encoded(
            layers=tuple(layer.detach() for layer in self.output["hidden_states"]),
            pooler_BH=None if pooler_BH is None else pooler_BH.detach(),
            logits=logits,
            lengths=lengths,
        )


def autocast(device: torch.device, dtype: torch.dtype | None) -> AbstractContextManager[Any]:
    if dtype is None or dtype == torch.float32:
        return nullcontext()
    return torch.autocast(device.type, dtype)


def logits_of(output: Any, task: Task | None) -> Tensor:
    """(B, S, 2) for spans, (B, C) otherwise."""
    names = ("logits",) if task is None else task.model_outputs
    columns: list[Tensor] = [output[name] for name in names]
    return columns[0] if len(columns) == 1 else torch.stack(columns, dim=-1)


def pad_batch(
    model: "PreTrainedModel", token_ids: Sequence[Tokens], type_ids: Sequence[Tokens], device: torch.device
) -> dict[str, Tensor]:
    """The inputs of a model, padded to the batch's longest window and no further."""
    size = (len(token_ids), max(len(ids) for ids in token_ids))
    ids_BS = np.full(size, getattr(model.config, "pad_token_id", None) or 0, dtype=np.int64)
    types_BS, mask_BS = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
    for row, (ids, types) in enumerate(zip(token_ids, type_ids, strict=True)):
        ids_BS[row, : len(ids)], types_BS[row, : len(ids)], mask_BS[row, : len(ids)] = ids, types, 1
    inputs = {"input_ids": ids_BS, "attention_mask": mask_BS}
    if getattr(model.config, "type_vocab_size", 0) > 1:  # RoBERTa and others know one type, or none
        inputs["token_type_ids"] = types_BS
    return {name: torch.from_numpy(value).to(device) for name, value in inputs.items()}
