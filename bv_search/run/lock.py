"""One holder at a time, across processes: a lock that dies with its holder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bv_search.errors import OutputError, RunError
from bv_search.files import overwrite


@contextmanager
def exclusive(path: Path, *, wait: bool = True) -> Iterator[None]:
    """Hold `path` for the length of the block; without `wait`, refuse at once if someone else does."""
    handle = _open(path)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
        except BlockingIOError as cause:
            holder = os.pread(handle, 32, 0).decode(errors="replace").strip() or "unknown"
            raise RunError(
                "is being written by someone else",
                where=path.parent,
                found=f"process {holder}",
                do="wait for it, or end it",
            ) from cause
        overwrite(handle, str(os.getpid()).encode(), path)
        yield
    finally:
        os.close(handle)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as cause:
        raise OutputError(
            "cannot be written", where=path, found=cause.strerror or cause, do="choose another place"
        ) from cause
