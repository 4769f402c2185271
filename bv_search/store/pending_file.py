"""A file that is written while it is being filled."""

import os
from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Self

from bv_search.files import Disk, part_of, remove_part, unwritable


class PendingFile(ABC):
    """A file in the making: absent under its name until `commit` returns."""

    @abstractmethod
    def put(self, pieces: list[tuple[int, memoryview]]) -> None:
        """These bytes are final. They may be written now or at the end, and must not change any more."""

    @abstractmethod
    def commit(self, whole: list[memoryview]) -> None:
        """All the bytes, of which the pieces were a part."""

    @abstractmethod
    def abandon(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.abandon()


class PendingLocalFile(PendingFile):
    """Pieces go to the disk in a thread while the next batch is encoded, so that the last fsync is short."""

    def __init__(self, path: Path, size: int, disk: Disk) -> None:
        self._path, self._size, self._disk = path, size, disk
        self._part = part_of(path)
        self._put = 0
        self._pending: list[Future[None]] = []
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="write")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._handle = os.open(self._part, os.O_CREAT | os.O_TRUNC | os.O_RDWR, 0o666)
            self._reserve(size)
        except OSError as error:
            self._thread.shutdown()
            remove_part(self._part)
            raise unwritable(path, error) from error

    def _reserve(self, size: int) -> None:
        """A full disk is found before the work, not after it."""
        try:
            os.posix_fallocate(self._handle, 0, size)
        except OSError:
            os.close(self._handle)
            self._handle = -1
            raise

    def put(self, pieces: list[tuple[int, memoryview]]) -> None:
        self._put += sum(data.nbytes for _, data in pieces)
        self._pending.append(self._thread.submit(self._write, pieces))

    def _write(self, pieces: list[tuple[int, memoryview]]) -> None:
        for offset, data in pieces:
            self._disk.write_at(self._handle, data.cast("B"), offset)
        self._disk.sync(self._handle)

    def commit(self, whole: list[memoryview]) -> None:
        assert self._put == self._size, "every byte of a block is put exactly once"
        try:
            for future in self._pending:
                future.result()
            self._disk.sync(self._handle)
            self._disk.rename(self._part, self._path)
            self._disk.sync_folder(self._path.parent)
        except OSError as error:
            raise unwritable(self._path, error) from error

    def abandon(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
        remove_part(self._part)
