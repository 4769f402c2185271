"""Putting encoded batches into a block.

L layers, B windows of a batch, S tokens with padding, H width, T tokens of a block back to back.
"""

from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Protocol, Self

import numpy as np
import torch
from torch import Tensor

from bv_search.encoder.encoder import Encoded, Encoder
from bv_search.source.channels import Channels


class Blank(Protocol):
    """A block to be filled: one that is written to a file, or one in memory."""

    starts: np.ndarray  # of each window in hidden_LTH, and the end of the last
    hidden_LTH: np.ndarray

    def filled(self, windows: Iterable[int]) -> None:
        """These windows are in their places."""


class Placer:
    """Puts batches into their places in a block in a thread, while the next batch is encoded."""

    def __init__(self, encoder: Encoder, channels: Channels, block: Blank) -> None:
        self._encoder, self._channels, self._block = encoder, channels, block
        self._block_LTH = as_tensor(block.hidden_LTH, channels.stored)
        self._logits: list[np.ndarray | None] = [None] * (len(block.starts) - 1)
        self._stream: Any = None
        if encoder.device.type == "cuda":
            self._stream = torch.cuda.Stream(encoder.device)  # type: ignore[no-untyped-call]
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="place")
        self._pending: Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)

    def put(self, batch: np.ndarray, encoded: Encoded) -> None:
        """Returns at once, if the batch before is in its places; so two are in memory, never more."""
        ready = self._mark()
        self._wait()
        self._pending = self._thread.submit(self._place, batch, encoded, ready)

    def logits(self) -> list[np.ndarray] | None:
        """When all is in its place: the encoder's own logits per window, if it has any."""
        self._wait()
        found = [each for each in self._logits if each is not None]
        assert len(found) in (0, len(self._logits)), "an encoder predicts every window or none"
        return found or None

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()

    def _mark(self) -> Any:
        """The moment at which a batch is done, on a GPU; a CPU is done when it says so."""
        if self._stream is None:
            return None
        event: Any = torch.cuda.Event()  # type: ignore[no-untyped-call]
        event.record()
        return event

    @torch.inference_mode()
    def _place(self, batch: np.ndarray, encoded: Encoded, ready: Any) -> None:
        picked, found = self._fetch(encoded, ready)
        starts, ends = self._block.starts[batch].tolist(), self._block.starts[batch + 1].tolist()
        for block_TH, hidden_BSH in zip(self._block_LTH, picked, strict=True):
            for window_SH, start, end in zip(hidden_BSH, starts, ends, strict=True):
                block_TH[start:end].copy_(window_SH[: end - start])
        if found is not None:
            assert self._encoder.task is not None, "an encoder that predicts has a task"
            for window, padded, length in zip(batch, found, encoded.lengths, strict=True):
                self._logits[window] = self._encoder.task.unpadded(padded, length).copy()
        self._block.filled(batch)

    def _fetch(self, encoded: Encoded, ready: Any) -> tuple[list[Tensor], np.ndarray | None]:
        """What is kept of a batch, in the memory of this process."""
        if self._stream is None:
            return self._channels.pick(encoded), _numpy(encoded.logits)
        # a stream of its own, or the copy would wait for the next forward pass, which is queued already
        with torch.cuda.stream(self._stream):
            self._stream.wait_event(ready)
            picked = [each.to(self._channels.stored).cpu() for each in self._channels.pick(encoded)]
            return picked, _numpy(encoded.logits)


def _numpy(logits: Tensor | None) -> np.ndarray | None:
    if logits is None:
        return None
    values: np.ndarray = logits.float().cpu().numpy()
    return values


def as_tensor(values: np.ndarray, dtype: torch.dtype) -> Tensor:
    """The same memory as a tensor; NumPy has no bfloat16, so its bits are taken as they are."""
    if dtype == torch.bfloat16:
        return torch.from_numpy(values.view(np.int16)).view(torch.bfloat16)
    return torch.from_numpy(values)
