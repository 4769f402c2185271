"""Batches: windows of a store, widened and standardised once for all heads of a pack."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from bv_search.heads.inputs import Inputs, States, prepare
from bv_search.store.block import Block, Part
from bv_search.store.joined import AnySplit
from bv_search.store.layout import MICRO_BATCH


@dataclass(frozen=True, kw_only=True)
class Batch:
    windows: slice | np.ndarray  # rows of the split's index
    lengths_N: Tensor  # tokens of each window
    states: States  # windows back to back


@dataclass(frozen=True, kw_only=True)
class WantedStates:
    """What becomes of stored states before heads read them."""

    inputs: Sequence[Inputs] = (None,)  # the kinds that are wanted
    device: torch.device
    dtype: torch.dtype = torch.float32

    def states(self, raw_LTH: np.ndarray) -> States:
        return prepare(widen(raw_LTH, self.device), self.inputs, self.dtype)


def batches(split: AnySplit, parts: Sequence[Part], wanted: WantedStates) -> Iterator[Batch]:
    """Micro-batches. On a GPU, the next one is copied there while this one is used."""
    made = _batches(split, parts, wanted)
    return _one_ahead(made, wanted.device) if wanted.device.type == "cuda" else made


def owned_batches(split: AnySplit, owners_N: np.ndarray, wanted: WantedStates) -> Iterator[Batch]:
    """The same of windows of one owner at a time, in each block; those without an owner are left out."""
    made = _owned_batches(split, owners_N, wanted)
    return _one_ahead(made, wanted.device) if wanted.device.type == "cuda" else made


def _batches(split: AnySplit, parts: Sequence[Part], wanted: WantedStates) -> Iterator[Batch]:
    for block in split.read(parts):
        yield from _cut(block, wanted)
        del block  # or its memory would outlive the next one's beginning


def _owned_batches(split: AnySplit, owners_N: np.ndarray, wanted: WantedStates) -> Iterator[Batch]:
    whole = [Part(block=n, start=0, stop=windows) for n, windows in enumerate(split.block_windows)]
    blocks = np.split(owners_N, np.cumsum(split.block_windows)[:-1])
    needed = [part for part, owners in zip(whole, blocks, strict=True) if (owners >= 0).any()]
    for block in split.read(needed):
        yield from _pick(block, owners_N, wanted)
        del block


def _one_ahead(made: Iterator[Batch], device: torch.device) -> Iterator[Batch]:
    """Made on a stream of its own, which the stream of the heads waits for batch by batch."""
    copies = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]
    heads = torch.cuda.current_stream(device)
    with torch.cuda.stream(copies):
        batch = next(made, None)
    while batch is not None:
        heads.wait_stream(copies)
        for tensor in (*batch.states.values(), batch.lengths_N):
            tensor.record_stream(heads)  # or its memory could be reused before the heads are done with it
        with torch.cuda.stream(copies):
            following = next(made, None)
        yield batch
        batch = following


def _cut(block: Block, wanted: WantedStates) -> Iterator[Batch]:
    """The micro-batches of a block. They are copies: none keeps the block in memory."""
    lengths = torch.tensor(block.lengths, dtype=torch.int64)
    ends = np.concatenate([[0], np.cumsum(block.lengths)])
    for low in range(0, len(lengths), MICRO_BATCH):
        high = min(low + MICRO_BATCH, len(lengths))
        yield Batch(
            windows=slice(block.first_window + low, block.first_window + high),
            lengths_N=lengths[low:high].to(wanted.device),
            states=wanted.states(block.hidden_LTH[:, ends[low] : ends[high]]),
        )


def _pick(block: Block, owners_N: np.ndarray, wanted: WantedStates) -> Iterator[Batch]:
    """Micro-batches of windows that need not be neighbours: copies, too."""
    owners = owners_N[block.first_window : block.first_window + block.windows]
    starts = np.cumsum(block.lengths) - block.lengths
    for owner in np.unique(owners[owners >= 0]):
        own = np.flatnonzero(owners == owner)
        for low in range(0, len(own), MICRO_BATCH):
            chosen = own[low : low + MICRO_BATCH]
            tokens = places_of(starts[chosen], block.lengths[chosen])
            yield Batch(
                windows=block.first_window + chosen,
                lengths_N=torch.tensor(block.lengths[chosen], dtype=torch.int64).to(wanted.device),
                states=wanted.states(block.hidden_LTH[:, tokens]),
            )


def places_of(starts_N: np.ndarray, lengths_N: np.ndarray) -> np.ndarray:
    """Where the tokens of windows stand that begin there, window after window."""
    ends_N = np.cumsum(lengths_N)
    return np.repeat(starts_N - (ends_N - lengths_N), lengths_N) + np.arange(ends_N[-1])


def widen(raw_LTH: np.ndarray, device: torch.device) -> Tensor:
    """float16, or bfloat16 kept as uint16, to float32: one copy, made where the heads are."""
    if not raw_LTH.flags.writeable:
        raw_LTH = _as_writeable(raw_LTH)
    raw = torch.from_numpy(raw_LTH)
    if raw.dtype == torch.uint16:
        raw = raw.view(torch.bfloat16)
    if device.type == "cuda":
        raw = raw.contiguous().pin_memory()  # a copy from other memory would wait for the GPU
    return raw.to(device, non_blocking=True).to(torch.float32)


def _as_writeable(raw: np.ndarray) -> np.ndarray:
    """torch warns of read-only arrays; the heads only read, so a view that hides the flag is safe."""
    view = raw.__array_interface__ | {"data": (raw.__array_interface__["data"][0], False)}
    return np.asarray(_View(view, raw))


class _View:
    def __init__(self, interface: dict[str, object], owner: np.ndarray) -> None:
        self.__array_interface__ = interface
        self.owner = owner
