"""Reading a store against plain reading of the same bytes, and against HDF5 in random batches.

Arms whose name says `cold` are read from the disk, the others from the page cache. The HDF5 file is the usual
form: every window padded to the task's maximum, one chunk per window, random batches of 16.
"""

import gc
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import Any

import numpy as np

from bv_search.bench.arms import Arm, ratio, render, take_turns
from bv_search.bench.config import BenchConfig
from bv_search.bench.hdf5 import shuffled_batches, write_padded
from bv_search.command import Progress, Result
from bv_search.errors import StoreError, UserError
from bv_search.store.folder import LocalFolder
from bv_search.store.info import drop_from_cache
from bv_search.store.layout import MICRO_BATCH
from bv_search.store.manifest import BlockEntry, EncoderEntry
from bv_search.store.store import Store, StoreSplit
from bv_search.store.writer import SplitArrays, write_store
from bv_search.tasks.registry import find_task
from bv_search.tasks.window import WindowRows
from bv_search.words import spell_size

SYNTHETIC_LAYERS, SYNTHETIC_WIDTH = 13, 768
SQUAD_MEAN, SQUAD_SPREAD, SQUAD_MOST = 171, 0.45, 386
PREAD_BYTES = 4 << 20
HDF5_BYTES = 256 << 20


@dataclass(frozen=True, kw_only=True)
class Prefix:
    """The first windows of a split, and the blocks that hold them."""

    split: StoreSplit
    windows: int
    blocks: tuple[BlockEntry, ...]

    @property
    def bytes(self) -> float:
        return float(sum(block.size for block in self.blocks))

    def afresh(self) -> "Prefix":
        """The same to a reader that has opened and checked nothing yet."""
        store = Store(self.split.store.folder, self.split.store.manifest)
        return replace(self, split=store.split(self.split.name))

    def paths(self) -> list[Path]:
        return [self.split.store.folder.local(block.file, block.digest) for block in self.blocks]


def run(asked: BenchConfig, progress: Progress) -> Result:
    with tempfile.TemporaryDirectory(prefix="bv-bench-", dir=Path.cwd()) as folder:
        store = Store.open(asked.store) if asked.store else _synthetic(Path(folder), asked.amount, progress)
        prefix = _prefix(store, asked.amount)
        warm = take_turns(_warm_arms(prefix), unit="bytes", rounds=asked.rounds, progress=progress)
        cold = take_turns(
            _cold_arms(prefix), unit="bytes", rounds=asked.rounds, progress=progress, warm=False
        )
        rows = take_turns(
            _row_arms(prefix, Path(folder)), unit="windows", rounds=asked.rounds, progress=progress
        )
    layers = store.manifest.shape[0]
    ratios = {
        "scan / pread": ratio(warm, "scan", "pread"),
        "first scan / pread": ratio(warm, "first scan", "pread"),
        "time of one layer / time of all": round(1 / ratio(warm, "one layer", "scan"), 4),
        "its limit, 2 / layers": round(2 / layers, 4),
        "cold scan checked / unchecked": ratio(cold, "cold scan, checked", "cold scan"),
        "cold scan checked / cold pread": ratio(cold, "cold scan, checked", "cold pread"),
        "scan / HDF5 in random batches": ratio(rows, "scan of windows", "HDF5 in random batches"),
    }
    said: dict[str, Any] = {name: each.to_json() for name, each in {**warm, **cold, **rows}.items()}
    text = (
        f"{prefix.windows} windows, {prefix.bytes / 1e6:,.0f} MB, {layers} layers, {store.manifest.dtype}\n"
    )
    return Result(text=text + render(said, ratios), json={"arms": said, "ratios": ratios})


def _prefix(store: Store, size: int) -> Prefix:
    if store.manifest.format != "npy" or not isinstance(store.folder, LocalFolder):
        raise UserError(
            "cannot be compared with pread", where=store.path, expected="a local store of format npy"
        )
    split = max(store.splits(), key=lambda each: each.entry.tokens)
    blocks: list[BlockEntry] = []
    for block in split.entry.kept:
        if sum(each.size for each in blocks) >= size:
            break
        blocks.append(block)
    return Prefix(split=split, windows=sum(block.windows for block in blocks), blocks=tuple(blocks))


def _warm_arms(prefix: Prefix) -> dict[str, Arm]:
    kept = prefix.afresh()  # its maps stay open, as they do in a search
    middle = kept.split.store.manifest.shape[0] // 2
    return {
        "pread": lambda: pread(prefix.paths()),
        "scan": lambda: scan(kept),
        "first scan": lambda: scan(prefix.afresh()),
        "first scan, checked": lambda: scan(prefix.afresh(), verify=True),
        # counted as if it had read everything, so that rates compare as times do
        "one layer": lambda: scan(kept, layers=[middle]),
    }


def _cold_arms(prefix: Prefix) -> dict[str, Arm]:
    return {
        "cold pread": _cold(prefix, lambda: pread(prefix.paths())),
        "cold scan": _cold(prefix, lambda: scan(prefix.afresh())),
        "cold scan, checked": _cold(prefix, lambda: scan(prefix.afresh(), verify=True)),
    }


def _cold(prefix: Prefix, arm: Arm) -> Arm:
    """The arm with nothing of the files in the page cache; what a map still holds could not be dropped."""

    def measure() -> float:
        gc.collect()
        for block in prefix.blocks:
            drop_from_cache(prefix.split.store.folder, block.file)
        return arm()

    return measure


def pread(paths: Sequence[Path]) -> float:
    """The bytes of these files, into one small buffer."""
    buffer = memoryview(bytearray(PREAD_BYTES))
    total = 0
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            offset = 0
            while count := os.preadv(handle, [buffer], offset):
                offset += count
            total += offset
        finally:
            os.close(handle)
    return float(total)


def scan(prefix: Prefix, *, layers: Sequence[int] | None = None, verify: bool = False) -> float:
    """Every value of the windows, or of some of their layers, touched once."""
    wanted = range(prefix.split.store.manifest.shape[0]) if layers is None else layers
    for block in prefix.split.blocks(stop=prefix.windows, layers=layers, verify=verify):
        for layer in wanted:
            _touch(block.hidden_LTH[layer])
    return prefix.bytes


def _touch(layer_TH: np.ndarray) -> None:
    """Wide integer reads: no arithmetic that would be slower than the memory."""
    flat = layer_TH.reshape(-1).view(np.uint16)
    whole = len(flat) // 4 * 4
    np.bitwise_or.reduce(flat[:whole].view(np.uint64))


def _row_arms(prefix: Prefix, folder: Path) -> dict[str, Arm]:
    manifest = prefix.split.store.manifest
    layers, width = manifest.shape
    longest = 1 if manifest.one_token else int(manifest.task["max_length"])
    rows = max(MICRO_BATCH, min(prefix.windows, HDF5_BYTES // (longest * layers * width * 2)))
    path = folder / "rows.h5"
    one_LTH = np.random.default_rng(0).normal(size=(layers, longest, width)).astype("<f2")
    write_padded(path, repeat(one_LTH, rows), (rows, layers, longest, width))

    def random_batches() -> float:
        for _, values_NLSH in shuffled_batches(path):
            _touch(values_NLSH)
        return float(rows)

    kept = prefix.afresh()

    def scan_windows() -> float:
        scan(kept)
        return float(prefix.windows)

    return {"scan of windows": scan_windows, "HDF5 in random batches": random_batches}


def _synthetic(folder: Path, amount: int, progress: Progress) -> Store:
    """Lengths like those of SQuAD, BERT-base's shape."""
    progress.say(f"writing a synthetic store of {spell_size(amount)}")
    rng = np.random.default_rng(0)
    token_bytes = SYNTHETIC_LAYERS * SYNTHETIC_WIDTH * 2
    count = max(MICRO_BATCH, amount // (token_bytes * SQUAD_MEAN))
    lengths = np.clip(rng.lognormal(np.log(155), SQUAD_SPREAD, count), 30, SQUAD_MOST).astype(int)
    values = rng.normal(size=(SYNTHETIC_LAYERS, SQUAD_MOST, SYNTHETIC_WIDTH)).astype(np.float32)
    table = WindowRows()
    for number, length in enumerate(lengths):
        table.ids.append(f"r{number}#0")
        table.rows.append(f"r{number}")
        table.keys.append(number)
        table.token_ids.append(np.zeros(length, np.int32))
        table.type_ids.append(np.zeros(length, np.int32))
        table.labels.append([0.0, 0.0])
    split = SplitArrays(role="train", index=table.table(), hidden=[values[:, :length] for length in lengths])
    try:
        return write_store(
            folder / "store",
            {"train": split},
            task=find_task("squad2-span").to_json(),
            encoder=EncoderEntry(id="synthetic", revision=None, digest="", parameters=1),
        )
    except StoreError as error:
        raise AssertionError("a synthetic store fits its own form") from error
