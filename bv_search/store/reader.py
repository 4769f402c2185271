"""Reading blocks: mapped, checked once, the next one fetched while one is used."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np

from bv_search.errors import StoreError
from bv_search.files import digest_file
from bv_search.store.block import REPAIR, Block, Part, layer_digest, map_npy, npy_header, read_parquet
from bv_search.store.folder import Folder
from bv_search.store.manifest import BlockEntry, Manifest, SplitEntry

AHEAD = 2
"""Blocks fetched before they are asked for."""

ADVICE_BYTES = 2 << 20


class BlockReader:
    """The blocks of one split. A block is checked the first time that this reader opens it."""

    def __init__(
        self, folder: Folder, manifest: Manifest, entry: SplitEntry, lengths: Callable[[], np.ndarray]
    ) -> None:
        self._folder, self._manifest, self._blocks = folder, manifest, entry.blocks
        self._load_lengths = lengths
        self._starts = np.concatenate([[0], np.cumsum([block.windows for block in entry.blocks])]).astype(int)
        self._checked: set[tuple[int, int]] = set()

    @cached_property
    def _lengths(self) -> np.ndarray:
        return self._load_lengths()

    def parts(self, start: int, stop: int, order: Sequence[int] | None) -> list[Part]:
        """The parts of blocks that are windows [start, stop) of the split."""
        parts = []
        for number in range(len(self._blocks)) if order is None else order:
            first, end = int(self._starts[number]), int(self._starts[number + 1])
            if first < stop and end > start:
                parts.append(Part(block=number, start=max(start - first, 0), stop=min(stop, end) - first))
        return parts

    def read(self, number: int, *, layers: Sequence[int] | None, verify: bool) -> Block:
        entry = self._blocks[number]
        first, end = int(self._starts[number]), int(self._starts[number + 1])
        lengths = self._lengths[first:end]
        if int(lengths.sum()) != entry.tokens:
            raise StoreError(
                "has other tokens than the index",
                where=f"{self._folder.url}/{entry.file}",
                expected=entry.tokens,
                found=int(lengths.sum()),
                do=REPAIR,
            )
        path = self._path(entry)
        hidden_LTH = self._open(path, entry, lengths, whole=verify and layers is None, number=number)
        wanted = range(len(hidden_LTH)) if layers is None else layers
        if verify and entry.layers:
            self._check_layers(hidden_LTH, entry, number, wanted)
        elif not verify:
            _advise(path, hidden_LTH, wanted, self._manifest)
        return Block(number=number, first_window=first, lengths=lengths, hidden_LTH=hidden_LTH)

    def _path(self, entry: BlockEntry) -> Path:
        try:
            return self._folder.local(entry.file, entry.digest)
        except FileNotFoundError as error:
            raise self._absent(entry) from error

    def _open(
        self, path: Path, entry: BlockEntry, lengths: np.ndarray, *, whole: bool, number: int
    ) -> np.ndarray:
        layers, width = self._manifest.shape
        shape = (layers, entry.tokens, width)
        try:
            if self._manifest.format == "npy":
                return map_npy(path, shape, self._manifest.dtype)
            if whole and (number, -1) not in self._checked:
                self._compare(digest_file(path), entry.digest, entry, "")
                self._checked.add((number, -1))
            return read_parquet(path, shape, lengths, self._manifest.dtype)
        except FileNotFoundError as error:
            raise self._absent(entry) from error

    def _check_layers(
        self, hidden_LTH: np.ndarray, entry: BlockEntry, number: int, layers: Iterable[int]
    ) -> None:
        for layer in layers:
            if (number, layer) not in self._checked:
                found = layer_digest(hidden_LTH[layer])
                self._compare(found, entry.layers[layer], entry, f" in {self._manifest.layers[layer]}")
                self._checked.add((number, layer))

    def _compare(self, found: str, expected: str, entry: BlockEntry, where: str) -> None:
        if found != expected:
            raise StoreError(
                f"is damaged{where}",
                where=f"{self._folder.url}/{entry.file}",
                expected=f"digest {expected}",
                found=found,
                do=REPAIR,
            )

    def _absent(self, entry: BlockEntry) -> StoreError:
        return StoreError("is missing", where=f"{self._folder.url}/{entry.file}", do=REPAIR)


def _advise(path: Path, hidden_LTH: np.ndarray, layers: Iterable[int], manifest: Manifest) -> None:
    """Ask the system for the bytes ahead of their use; one request is capped, so there are several."""
    if manifest.format != "npy":
        return
    size = hidden_LTH[0].nbytes
    header = len(npy_header(hidden_LTH.shape, manifest.dtype))
    handle = os.open(path, os.O_RDONLY)
    try:
        for layer in layers:
            start = header + layer * size
            for offset in range(start, start + size, ADVICE_BYTES):
                os.posix_fadvise(handle, offset, ADVICE_BYTES, os.POSIX_FADV_WILLNEED)
    finally:
        os.close(handle)


def read_ahead(parts: Sequence[Part], read: Callable[[int], Block]) -> Iterator[Block]:
    """The parts in turn, with the blocks of the next ones under way in threads."""
    if not parts:
        return
    with ThreadPoolExecutor(AHEAD, thread_name_prefix="read") as threads:
        pending: deque[tuple[Part, Future[Block]]] = deque()
        try:
            for part in parts:
                pending.append((part, threads.submit(read, part.block)))
                if len(pending) > AHEAD:
                    yield _next(pending)
            while pending:
                yield _next(pending)
        finally:
            for _, future in pending:
                future.cancel()


def _next(pending: deque[tuple[Part, Future[Block]]]) -> Block:
    part, future = pending.popleft()
    return future.result().cut(part)
