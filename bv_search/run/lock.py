"""One holder at a time, across processes: a lock that dies with its holder."""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bv_search.errors import OutputError, RunError
from bv_search.files import overwrite

POLL_SECONDS = 0.05


@contextmanager
def exclusive(path: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold `path` for the length of the block; refuse if someone else still does after so many seconds."""
    handle = _open(path)
    try:
        try:
            _take(handle, wait)
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


def _take(handle: int, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= end:
                raise
        time.sleep(POLL_SECONDS)


def _open(path: Path) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as cause:
        raise OutputError(
            "cannot be written", where=path, found=cause.strerror or cause, do="choose another place"
        ) from cause
