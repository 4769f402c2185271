"""Scoring a stage: the encoder's own answers, and those of the heads that ride along, in one pass.

The encoder is without dropout then. N windows, D numbers of a label.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import cached_property, partial

import numpy as np
import pyarrow as pa
import torch

from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.encoder.predictions import BATCH_TOKENS, predict_batches
from bv_search.heads.config import HeadShape
from bv_search.heads.head import Head
from bv_search.heads.inputs import Inputs, prepare, share_inputs
from bv_search.heads.pack import Pack
from bv_search.scan.batch import Batch
from bv_search.scan.judge import Scales, Verdict
from bv_search.scan.lanes import Lanes
from bv_search.scan.score import AnswerSheets, answer_batch
from bv_search.scan.segment import SETTLING, gather_statistics
from bv_search.source.channels import Channels
from bv_search.source.fill import encode_batches
from bv_search.store.layout import MICRO_BATCH
from bv_search.tasks.task import Logits

SETTLED = SETTLING * MICRO_BATCH
"""Windows on which batch norm's statistics are measured."""


class RoleReading(ABC):
    """One pass of an encoder over the windows of a role. Its end brings what was said."""

    own: list[Logits]  # the encoder's, of each window
    verdicts: list[Verdict | None]  # of each head; None where its answers are no numbers

    def __init__(self, encoder: Encoder, windows: pa.Table) -> None:
        self._encoder, self._windows = encoder, windows
        self.own, self.verdicts = [], []

    @abstractmethod
    def read(self) -> Iterator[int]:
        """Tells how many windows are done."""


class OwnReading(RoleReading):
    """Of the encoder alone: no hidden state is kept."""

    def read(self) -> Iterator[int]:
        own: dict[int, Logits] = {}
        for batch in predict_batches(self._encoder, self._windows):
            own |= batch
            yield len(own)
        self.own = [own[number] for number in range(self._windows.num_rows)]


class SharedReading(RoleReading):
    """Of the encoder and heads on its hidden states."""

    def __init__(
        self,
        encoder: Encoder,
        windows: pa.Table,
        heads: Sequence[Head],
        *,
        channels: Channels,
        shape: HeadShape,
    ) -> None:
        super().__init__(encoder, windows)
        self._heads, self._channels, self._shape = heads, channels, shape

    def read(self) -> Iterator[int]:
        inputs = share_inputs(self._heads)
        lengths_N = np.array(self._channels.kept(self._windows.column("length").to_pylist()))
        sheets = AnswerSheets(len(self._heads), self._shape, lengths_N)
        own: dict[int, Logits] = {}
        with Lanes(self._heads, self._encoder.device) as lanes:
            teams = [sheets.team(self._heads, group) for group in lanes.groups]
            for windows, encoded in encoder_batches(self._encoder, self._windows):
                batch = as_batch(windows, encoded, self._channels, inputs)
                lanes.run(partial(answer_batch, batch, sheets.places(windows)), teams)
                own |= self._say(windows, encoded)
                yield len(own)
        self.own = [own[number] for number in range(self._windows.num_rows)]
        self.verdicts = [self._scales.weigh(logits) for logits in sheets.by_window()]

    def _say(self, windows: np.ndarray, encoded: Encoded) -> dict[int, Logits]:
        assert encoded.logits is not None, "an encoder that is fine-tuned predicts"
        rows = zip(windows.tolist(), encoded.logits.float().cpu().numpy(), encoded.lengths, strict=True)
        task = self._scales.task
        return {number: task.unpadded(row, length).copy() for number, row, length in rows}

    @cached_property
    def _scales(self) -> Scales:
        assert self._encoder.task is not None, "an encoder that is fine-tuned has a task"
        labels_ND = torch.from_numpy(labels_of_windows(self._windows))
        return Scales(task=self._encoder.task, index=self._windows, labels_ND=labels_ND)


def as_batch(windows: np.ndarray, encoded: Encoded, channels: Channels, inputs: Sequence[Inputs]) -> Batch:
    """As heads read it."""
    hidden_LTH = channels.join(encoded)
    return Batch(
        windows=windows,
        lengths_N=torch.tensor(channels.kept(encoded.lengths), device=hidden_LTH.device),
        states=prepare(hidden_LTH, inputs),
    )


def encoder_batches(encoder: Encoder, windows: pa.Table) -> Iterator[tuple[np.ndarray, Encoded]]:
    """The batches that the encoder's own predictions are made in, of 32 bits."""
    tokens = BATCH_TOKENS.get(encoder.device.type, BATCH_TOKENS["cpu"])
    return encode_batches(encoder, windows, tokens, torch.float32)


def settle(heads: Sequence[Head], encoder: Encoder, channels: Channels, windows: pa.Table) -> None:
    """Measure what batch norm needs, with weights and an encoder that stand still."""
    normed = [head for head in heads if head.normed]
    if not normed:
        return
    inputs = share_inputs(normed)
    with Lanes(normed, encoder.device) as lanes:
        packs = [Pack([normed[k] for k in group]) for group in lanes.groups]
        for number, (chosen, encoded) in enumerate(encoder_batches(encoder, windows)):
            batch = as_batch(chosen, encoded, channels, inputs)
            lanes.run(partial(gather_statistics, batch, number), packs)


def labels_of_windows(windows: pa.Table) -> np.ndarray:
    """labels_ND."""
    return np.array(windows.column("label").to_pylist(), dtype=np.float32)
