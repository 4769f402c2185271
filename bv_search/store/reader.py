"""Reading blocks: mapped, checked once, the next one fetched while one is used."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from pathlib import Path

import numpy as np
import xxhash

from bv_search.errors import StoreError
from bv_search.files import digest_file
from bv_search.store.block import REPAIR, Block, Part, map_npy, read_parquet
from bv_search.store.dtype import stored_dtype
from bv_search.store.folder import Folder
from bv_search.store.manifest import BlockEntry, Manifest, SplitEntry
from bv_search.store.memory import BlockMemory

AHEAD = 2
"""Blocks fetched before they are asked for, where memory has room for them."""

ADVICE_BYTES = 128 << 10
READ_BYTES = 1 << 20


class BlockReader:
    """The blocks of one split. A block is checked the first time that this reader opens it."""

    def __init__(
        self,
        folder: Folder,
        manifest: Manifest,
        entry: SplitEntry,
        lengths: Callable[[], np.ndarray],
        memory: BlockMemory,
    ) -> None:
        self._folder, self._manifest, self._blocks = folder, manifest, entry.kept
        self._memory = memory
        self._load_lengths = lengths
        self._starts = np.concatenate([[0], np.cumsum([block.windows for block in entry.blocks])]).astype(int)
        self._checked: set[tuple[int, int]] = set()

    @cached_property
    def _lengths(self) -> np.ndarray:
        return self._load_lengths()

    def parts(self, start: int, stop: int, order: Sequence[int] | None) -> list[Part]:
        """The parts of blocks that are windows [start, stop) of the split."""
        parts = []
        for number in range(len(self._starts) - 1) if order is None else order:
            first, end = int(self._starts[number]), int(self._starts[number + 1])
            if first < stop and end > start:
                parts.append(Part(block=number, start=max(start - first, 0), stop=min(stop, end) - first))
        return parts

    def read(self, parts: Sequence[Part], *, layers: Sequence[int] | None, verify: bool) -> Iterator[Block]:
        """The parts in turn, with the blocks of the next ones under way in threads.

        A block counts as used until the next one is asked for.
        """
        waiting = deque(parts)
        pending: deque[Future[Block]] = deque()
        taken: deque[str] = deque()
        with ThreadPoolExecutor(AHEAD, thread_name_prefix="read") as threads:
            try:
                while waiting or pending:
                    while waiting and self._may_start(waiting[0], len(pending)):
                        part = waiting.popleft()
                        taken.append(self._take(part))
                        pending.append(threads.submit(self._part, part, layers, verify))
                    yield pending.popleft().result()
                    self._memory.release(taken.popleft())
            finally:
                for future in pending:
                    future.cancel()
                for file in taken:
                    self._memory.release(file)

    def _may_start(self, part: Part, pending: int) -> bool:
        entry = self._blocks[part.block]
        return not pending or (pending <= AHEAD and self._memory.fits(entry.file, entry.size))

    def _take(self, part: Part) -> str:
        entry = self._blocks[part.block]
        self._memory.take(entry.file, entry.size)
        return entry.file

    def _part(self, part: Part, layers: Sequence[int] | None, verify: bool) -> Block:
        return self._block(part.block, layers=layers, verify=verify).cut(part)

    def _block(self, number: int, *, layers: Sequence[int] | None, verify: bool) -> Block:
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
        try:
            with self._folder.held(entry.file, entry.digest, entry.size) as path:
                hidden_LTH = self._open(number, path, lengths, layers=layers, verify=verify)
        except FileNotFoundError as error:
            where = f"{self._folder.url}/{entry.file}"
            raise StoreError("is missing", where=where, do=REPAIR) from error
        return Block(number=number, first_window=first, lengths=lengths, hidden_LTH=hidden_LTH)

    def _open(
        self, number: int, path: Path, lengths: np.ndarray, *, layers: Sequence[int] | None, verify: bool
    ) -> np.ndarray:
        entry, (count, width) = self._blocks[number], self._manifest.shape
        shape = (count, entry.tokens, width)
        if self._manifest.format == "parquet":
            if verify and (number, 0) not in self._checked:
                self._compare(digest_file(path), entry.digest, entry, "")
                self._checked.add((number, 0))
            return read_parquet(path, shape, lengths, self._manifest.dtype)
        hidden_LTH = self._memory.map(entry.file, lambda: map_npy(path, shape, self._manifest.dtype))
        self._fetch(number, path, shape, range(count) if layers is None else layers, verify=verify)
        return hidden_LTH

    def _fetch(
        self, number: int, path: Path, shape: tuple[int, int, int], layers: Iterable[int], *, verify: bool
    ) -> None:
        """Bring layers into the page cache, and check those that have not been checked."""
        with path.open("rb", buffering=0) as file:
            size = shape[1] * shape[2] * stored_dtype(self._manifest.dtype).itemsize
            header = os.fstat(file.fileno()).st_size - size * shape[0]
            for layer in layers:
                start = header + layer * size
                if not verify:
                    advise(file.fileno(), start, size)
                elif (number, layer) not in self._checked:
                    entry = self._blocks[number]
                    found = digest_range(file.fileno(), start, size)
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


def advise(handle: int, start: int, size: int) -> None:
    """Ask the system for bytes ahead of their use; a single request is capped, so there are several."""
    for offset in range(start, start + size, ADVICE_BYTES):
        os.posix_fadvise(handle, offset, min(ADVICE_BYTES, start + size - offset), os.POSIX_FADV_WILLNEED)


def digest_range(handle: int, start: int, size: int) -> str:
    """The layer digest of a part of a file. Plain reads: a cold disk is far slower through a map."""
    state, buffer = xxhash.xxh3_64(), memoryview(bytearray(READ_BYTES))
    while size > 0:
        count = os.preadv(handle, [buffer[: min(size, READ_BYTES)]], start)
        if count == 0:
            break
        state.update(buffer[:count])
        start, size = start + count, size - count
    return state.hexdigest()
