"""Writing a store: blocks first, then index, logits and statistics, the manifest last."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import xxhash

from bv_search.errors import OutputError
from bv_search.files import DISK, Disk, digest_bytes
from bv_search.store.block import layer_digest, npy_header, write_parquet
from bv_search.store.dtype import narrow, refuse_overflow, stored_dtype
from bv_search.store.folder import Folder, open_folder
from bv_search.store.index import index_bytes, logits_table, place_windows, table_bytes
from bv_search.store.layout import (
    ALL,
    LIMITS,
    MANIFEST,
    STATISTICS,
    BlockLimits,
    BlockPlan,
    block_file,
    channel_name,
    encoder_file,
    index_file,
    plan_blocks,
)
from bv_search.store.manifest import Baseline, BlockEntry, EncoderEntry, FileEntry, Manifest, SplitEntry
from bv_search.store.statistics import Moments, Statistics
from bv_search.store.store import Store
from bv_search.tasks.row import Role

EARLY_BYTES = 16 << 10


@dataclass(frozen=True, kw_only=True)
class BlockForm:
    """What all blocks of a store have in common."""

    layers: tuple[str, ...]
    width: int
    dtype: str
    format: str


class BlockWriter:
    """One block in memory, filled in any order, written behind the back of whoever fills it."""

    def __init__(self, folder: Folder, file: str, form: BlockForm, lengths: Sequence[int]) -> None:
        self._folder, self._file, self._form = folder, file, form
        self.lengths = [int(length) for length in lengths]
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        shape = (len(form.layers), int(self.starts[-1]), form.width)
        self.hidden_LTH = np.empty(shape, stored_dtype(form.dtype))
        self._header = npy_header(shape, form.dtype)
        self._part = None
        if form.format == "npy":
            self._part = folder.begin(file, len(self._header) + self.hidden_LTH.nbytes)
        # a layer of a window is one piece; small ones are cheaper to write all at once in the end
        self._early = self.hidden_LTH.nbytes >= EARLY_BYTES * max(len(self.lengths), 1) * len(form.layers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._part is not None:
            self._part.abandon()

    def fill(self, window: int, hidden_LTH: np.ndarray) -> None:
        """Put a window, already in the stored dtype, into its place."""
        self.hidden_LTH[:, self.starts[window] : self.starts[window + 1]] = hidden_LTH

    def filled(self, windows: Iterable[int]) -> None:
        """These windows are in their places and may go to the disk."""
        if self._part is not None and self._early:
            self._part.put([piece for window in windows for piece in self._pieces(window)])

    def _pieces(self, window: int) -> Iterable[tuple[int, memoryview]]:
        layers, tokens, width = self.hidden_LTH.shape
        row = width * self.hidden_LTH.itemsize
        start, end = int(self.starts[window]), int(self.starts[window + 1])
        for layer in range(layers):
            offset = len(self._header) + (layer * tokens + start) * row
            yield offset, self.hidden_LTH[layer, start:end].data

    def commit(self) -> BlockEntry:
        """The block on the disk under its name; what the manifest will say of it."""
        refuse_overflow(
            self.hidden_LTH, self._form.dtype, self._form.layers, f"{self._folder.url}/{self._file}"
        )
        if self._part is None:
            written = self._folder.stream(
                self._file, lambda file: write_parquet(file, self.hidden_LTH, self.lengths)
            )
            return self._entry(written.size, written.digest, ())
        values = self.hidden_LTH.data.cast("B")
        self._part.put([(0, memoryview(self._header))])
        if not self._early:
            self._part.put([(len(self._header), values)])
        self._part.commit([memoryview(self._header), values])
        state = xxhash.xxh3_128(self._header)
        state.update(values)
        digest = f"xxh3:{state.hexdigest()}"
        layers = tuple(layer_digest(layer_TH) for layer_TH in self.hidden_LTH)
        return self._entry(len(self._header) + values.nbytes, digest, layers)

    def _entry(self, size: int, digest: str, layers: tuple[str, ...]) -> BlockEntry:
        return BlockEntry(
            file=self._file,
            windows=len(self.lengths),
            tokens=int(self.starts[-1]),
            size=size,
            digest=digest,
            layers=layers,
        )


def write_file(folder: Folder, file: str, data: bytes) -> FileEntry:
    folder.write(file, data)
    return FileEntry(file=file, size=len(data), digest=digest_bytes(data))


def write_statistics(folder: Folder, blocks: Iterable[Moments], dtype: str) -> FileEntry:
    """From the blocks of the training rows, in their order."""
    return write_file(folder, STATISTICS, Statistics.of(blocks, dtype).to_bytes())


def commit_manifest(folder: Folder, manifest: Manifest) -> None:
    """From here on there is a store. Of two that commit at once, one is refused."""
    try:
        folder.create(MANIFEST, manifest.to_bytes())
    except FileExistsError as error:
        raise OutputError(
            "already holds a store", where=folder.url, do="choose another --out, or delete that one"
        ) from error


@dataclass(frozen=True, kw_only=True)
class SplitArrays:
    """A split from memory, in the store's order: windows by WINDOW_SCHEMA, hidden_LTH (float32) of each."""

    role: str
    index: pa.Table
    hidden: Sequence[np.ndarray]
    logits: Sequence[np.ndarray] | None = None
    seen: Sequence[bool] | None = None


def write_store(
    place: str | Path,
    splits: Mapping[str, SplitArrays],
    *,
    task: Mapping[str, Any],
    encoder: EncoderEntry,
    baseline: Baseline | None = None,
    limits: BlockLimits = LIMITS,
    disk: Disk = DISK,
    **settings: Any,
) -> Store:
    """A store from arrays, without an encoder; `settings` are further fields of its Manifest."""
    folder = open_folder(place, disk)
    layers, _, width = next(iter(splits.values())).hidden[0].shape
    fields = {
        "layers": tuple(channel_name(layer) for layer in range(layers)),
        "tokens": ALL,
        "dtype": "float16",
        "format": "npy",
        "seed": 0,
        "data": "",
        "tokenizer": {},
        **settings,
    }
    form = BlockForm(layers=fields["layers"], width=width, dtype=fields["dtype"], format=fields["format"])
    written = {name: _write_split(folder, name, split, form, limits) for name, split in splits.items()}
    moments = (block for _, blocks in written.values() for block in blocks)
    manifest = Manifest(
        task=dict(task),
        encoder=encoder,
        shape=(layers, width),
        splits={name: entry for name, (entry, _) in written.items()},
        statistics=write_statistics(folder, moments, form.dtype),
        baseline=baseline,
        **fields,
    )
    commit_manifest(folder, manifest)
    return Store(folder, manifest)


def _write_split(
    folder: Folder, name: str, split: SplitArrays, form: BlockForm, limits: BlockLimits
) -> tuple[SplitEntry, list[Moments]]:
    """What the manifest says of it; of training rows also the moments of each block."""
    stored = [hidden_LTH.shape[1] for hidden_LTH in split.hidden]
    encoded = split.index["length"].to_pylist()
    layers, _, width = split.hidden[0].shape
    plans = plan_blocks(stored, encoded, layers * width * 2, limits)
    seen = np.zeros(len(stored), bool) if split.seen is None else np.asarray(split.seen, bool)
    index = place_windows(split.index, plans, stored, split.role, seen)
    written = [_write_block(folder, name, split, form, plan) for plan in plans]
    logits = None
    if split.logits is not None:
        logits = write_file(folder, encoder_file(name), table_bytes(logits_table(index["id"], split.logits)))
    entry = SplitEntry(
        role=split.role,
        windows=len(stored),
        tokens=sum(stored),
        encoded_tokens=sum(encoded),
        blocks=tuple(block for block, _ in written),
        index=write_file(folder, index_file(name), index_bytes(index, plans)),
        encoder=logits,
    )
    return entry, [moments for _, moments in written if moments is not None]


def _write_block(
    folder: Folder, name: str, split: SplitArrays, form: BlockForm, plan: BlockPlan
) -> tuple[BlockEntry, Moments | None]:
    hidden = split.hidden[plan.first : plan.first + plan.windows]
    lengths = [hidden_LTH.shape[1] for hidden_LTH in hidden]
    with BlockWriter(folder, block_file(name, plan.number, form.format), form, lengths) as block:
        for window, hidden_LTH in enumerate(hidden):
            block.fill(window, narrow(hidden_LTH, form.dtype))
        block.filled(range(plan.windows))
        entry = block.commit()
        return entry, Moments.of(block.hidden_LTH, form.dtype) if split.role == Role.TRAIN else None
