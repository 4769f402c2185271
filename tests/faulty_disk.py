"""A disk below one folder, one of whose writes fails: whoever makes it, by whatever call of Python's.

Audit hooks see each file that is opened for writing, each folder made, each rename and each removal. What is
written to an open file they do not see: the calls that do it are stood in for.
"""

import errno
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from bv_search.files import Disk

KILL = 0  # in place of an error: the process dies there
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
MADE = {"os.mkdir": 0, "os.rename": 1, "os.link": 1, "os.symlink": 1}  # which argument is the place
REMOVED = {"os.remove": 0, "os.rmdir": 0}  # a full disk lets that be done


@dataclass
class Faults:
    """Writes below a folder; the one of this number fails."""

    folder: Path
    at: int | None = None
    number: int = errno.ENOSPC
    done: list[str] = field(default_factory=list)  # what they were, without what differs from trial to trial

    @property
    def has_failed(self) -> bool:
        return self.at is not None and len(self.done) > self.at

    def kinds(self) -> list[int]:
        """Of each kind of write the first and the last."""
        first = {what: number for number, what in reversed(list(enumerate(self.done)))}
        last = {what: number for number, what in enumerate(self.done)}
        return sorted({*first.values(), *last.values()})

    def meet(self, what: str, place: str | bytes | Path | int) -> None:
        if isinstance(place, int):
            place = Path(f"/proc/self/fd/{place}").readlink()
        path = Path(os.fsdecode(place))
        if not path.is_relative_to(self.folder):
            return
        self.done.append(f"{what} {_kind(path.relative_to(self.folder))}")
        if len(self.done) - 1 == self.at:
            if self.number == KILL:
                os.kill(os.getpid(), signal.SIGKILL)
            raise OSError(self.number, os.strerror(self.number), str(path))

    def audit(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITING:
            self.meet("open", arguments[0])
        elif event in MADE:
            self.meet(event, arguments[MADE[event]])
        elif event in REMOVED and self.number == errno.EROFS:
            self.meet(event, arguments[REMOVED[event]])


def _kind(path: Path) -> str:
    """Trials are alike, and so are processes."""
    return re.sub("[0-9]+", "0", re.sub("trials/[^/]+", "trials/0", str(path)))


_faults: list[Faults] = []  # those of now


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _faults and event in _EVENTS:
        _faults[-1].audit(event, arguments)


_EVENTS = {"open", *MADE, *REMOVED}
sys.addaudithook(_audit)  # for good: Python takes none back


@contextmanager
def faulty(
    folder: Path, patch: pytest.MonkeyPatch, at: int | None = None, number: int = errno.ENOSPC
) -> Iterator[Faults]:
    faults = Faults(folder.resolve(), at, number)
    with patch.context() as calls:
        for name in ("fsync", "pwrite", "ftruncate"):
            calls.setattr(os, name, _met(faults, name))
        calls.setattr(Disk, "write", _half(faults, Disk.write))
        _faults.append(faults)
        try:
            yield faults
        finally:
            _faults.pop()


def _met(faults: Faults, name: str) -> Callable[..., Any]:
    call = getattr(os, name)

    def meet(handle: int, *arguments: Any) -> Any:
        faults.meet(name, handle)
        return call(handle, *arguments)

    return meet


def _half(faults: Faults, write: Callable[..., None]) -> Callable[..., None]:
    """What is written before a disk is full stays there."""

    def half(disk: Disk, file: BinaryIO, content: Callable[[BinaryIO], object]) -> None:
        write(disk, file, content)
        try:
            faults.meet("write", file.fileno())
        except OSError:
            file.truncate(file.tell() // 2)
            raise

    return half
