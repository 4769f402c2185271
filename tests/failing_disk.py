"""A disk that fails when told to: at its n-th write, fsync or rename."""

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from bv_search.files import Disk


class FailingDisk(Disk):
    """Fails at its `at`-th call, having done half of it where it is a write."""

    def __init__(self, at: int | None = None, error: type[BaseException] = OSError) -> None:
        self.at, self.error, self.calls = at, error, 0

    def _count(self) -> bool:
        self.calls += 1
        return self.calls - 1 == self.at

    def _fail(self) -> None:
        raise self.error(28, "No space left on device")

    def write(self, file: BinaryIO, write: Callable[[BinaryIO], object]) -> None:
        failing = self._count()
        super().write(file, write)
        if failing:
            file.truncate(file.tell() // 2)
            self._fail()

    def write_at(self, handle: int, data: memoryview, offset: int) -> None:
        if self._count():
            super().write_at(handle, data[: len(data) // 2], offset)
            self._fail()
        super().write_at(handle, data, offset)

    def sync(self, handle: int) -> None:
        if self._count():
            self._fail()
        super().sync(handle)

    def rename(self, old: Path, new: Path) -> None:
        if self._count():
            self._fail()
        super().rename(old, new)

    def link(self, old: Path, new: Path) -> None:
        if self._count():
            self._fail()
        super().link(old, new)
