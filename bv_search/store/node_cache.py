"""The node cache: copies of far blocks on this machine's disk, shared by all of its processes.

A copy is named by its digest, and whole or absent. Whoever makes it holds a lock on the part that it writes,
so that others wait for it, and know when it died. Whoever reads it holds a shared lock on it, which a map of
it keeps: of those that nobody reads, the least recently used go when room is needed. All locks end with their
process.
"""

import fcntl
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from bv_search.files import digest_file
from bv_search.words import spell_size

FREE_SHARE = 0.1  # of the disk stays free, where nobody says how large the cache may be
LOCK = ".lock"
PART = ".part"

Fill = Callable[[BinaryIO], object]
"""Writes a whole copy, or raises; checks what it writes."""


class NodeCache:
    """At most `limit` bytes; None: as many as leave a tenth of the disk free."""

    def __init__(self, folder: Path, limit: int | None = None) -> None:
        self.folder = folder
        self.trouble: str | None = None  # why a block was read past the cache, once there was one
        self._limit = limit
        self._sound: set[str] = set()  # copies whose bytes this process has looked at

    @contextmanager
    def held(self, name: str, digest: str, size: int, fill: Fill) -> Iterator[Path]:
        """A copy that stays while it is read; where there is no room for it, one in memory."""
        try:
            copy = self._open(name, digest, size, fill)
        except NoRoom as error:
            self._tell(error)
            copy = _in_memory(fill)
        path = self.folder / name
        try:
            yield path if _is_at(path, copy) else Path(f"/proc/self/fd/{copy}")
        finally:
            os.close(copy)

    def _open(self, name: str, digest: str, size: int, fill: Fill) -> int:
        """The copy, under a shared lock."""
        while True:
            copy = self._find(name, digest)
            if copy is None:
                copy = self._make(name, size, fill)
            if copy is not None:
                return copy

    def _find(self, name: str, digest: str) -> int | None:
        path = self.folder / name
        try:
            copy = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise NoRoom(error.strerror or str(error)) from error
        fcntl.flock(copy, fcntl.LOCK_SH)
        if _is_at(path, copy) and self._is_sound(name, path, digest):
            with suppress(OSError):  # of another user, say: it only counts as older
                os.utime(path)
            return copy
        os.close(copy)
        return None

    def _is_sound(self, name: str, path: Path, digest: str) -> bool:
        """A copy that this machine's disk has damaged is made anew; looked at once by each process."""
        if name not in self._sound:
            try:
                sound = digest_file(path) == digest
            except OSError:  # a disk that cannot read it any more
                sound = False
            if not sound:
                path.unlink(missing_ok=True)
                return False
            self._sound.add(name)
        return True

    def _make(self, name: str, size: int, fill: Fill) -> int | None:
        """The copy, made here; None where another process made it, or died of it, meanwhile."""
        part = self.folder / f".{name}{PART}"
        handle = self._begin(part, size)
        if handle is None:
            return None
        try:
            with os.fdopen(os.dup(handle), "wb") as file:
                fill(file)
            part.rename(self.folder / name)
            fcntl.flock(handle, fcntl.LOCK_SH)
        except BaseException as error:
            part.unlink(missing_ok=True)
            os.close(handle)
            if isinstance(error, OSError) and not isinstance(error, FileNotFoundError):
                raise NoRoom(error.strerror or str(error)) from error
            raise
        self._sound.add(name)
        return handle

    def _begin(self, part: Path, size: int) -> int | None:
        """An empty part with room for all of it, locked; None once another process is done with it."""
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            handle = os.open(part, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise NoRoom(error.strerror or str(error)) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            fcntl.flock(handle, fcntl.LOCK_SH)  # until it is whole, or its maker has died
            os.close(handle)
            return None
        if not _is_at(part, handle) or (part.parent / part.name[1 : -len(PART)]).exists():
            os.close(handle)
            return None
        try:
            self._reserve(handle, part, size)
        except BaseException:
            part.unlink(missing_ok=True)
            os.close(handle)
            raise
        return handle

    def _reserve(self, handle: int, part: Path, size: int) -> None:
        """Room on the disk, before anything is fetched."""
        with self._alone():
            os.ftruncate(handle, 0)
            self._make_room(size, beside=part)
            while True:
                try:
                    os.posix_fallocate(handle, 0, size)
                    return
                except OSError as error:
                    os.ftruncate(handle, 0)
                    if not self._drop_oldest():
                        raise NoRoom(error.strerror or str(error)) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        try:
            handle = os.open(self.folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise NoRoom(error.strerror or str(error)) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _make_room(self, size: int, beside: Path) -> None:
        if self._limit is not None and size > self._limit:
            raise NoRoom(f"a block has {spell_size(size)}, and all of it {spell_size(self._limit)}")
        self._sweep(beside)
        while not self._has_room(size):
            if not self._drop_oldest():
                raise NoRoom("all blocks in it are in use" if self._limit else "the disk is nearly full")

    def _has_room(self, size: int) -> bool:
        if self._limit is not None:
            return self._taken() + size <= self._limit
        disk = shutil.disk_usage(self.folder)
        return disk.free - size >= FREE_SHARE * disk.total

    def _taken(self) -> int:
        """What stands in it, and what is on its way: parts have their room from their beginning."""
        taken = 0
        for entry in os.scandir(self.folder):
            with suppress(FileNotFoundError):
                taken += entry.stat().st_size
        return taken

    def _sweep(self, beside: Path) -> None:
        """Away with parts whose makers have died."""
        for part in self.folder.glob(f".*{PART}"):
            if part != beside:
                _drop(part)

    def _drop_oldest(self) -> bool:
        """Whether there was one that nobody reads."""
        found = []
        for entry in os.scandir(self.folder):
            if not entry.name.startswith("."):
                with suppress(FileNotFoundError):
                    found.append((entry.stat().st_mtime_ns, entry.name))
        return any(_drop(self.folder / name) for _, name in sorted(found))

    def _tell(self, error: "NoRoom") -> None:
        if self.trouble is None:
            self.trouble = f"node cache {self.folder}: {error}; blocks are read without it"
            logging.getLogger(__name__).warning(self.trouble)


class NoRoom(Exception):
    """For a copy, on this disk; it is no error: a block can be read without one."""


def _drop(path: Path) -> bool:
    """Remove a file that nobody holds."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC)  # NFS locks nothing that is open for reading alone
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink(missing_ok=True)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _is_at(path: Path, handle: int) -> bool:
    """Whether a path still leads to an open file."""
    try:
        return os.path.samestat(path.stat(), os.fstat(handle))
    except FileNotFoundError:
        return False


def _in_memory(fill: Fill) -> int:
    handle = os.memfd_create("block")
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            fill(file)
    except BaseException:
        os.close(handle)
        raise
    return handle
