"""One holder at a time, across processes: a lock that dies with its holder."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from bv_search.errors import OutputError, RunError
from bv_search.files import overwrite
from bv_search.holder import BEAT_SECONDS, CARD_BYTES, STALE_SECONDS, Card, HeldFile, take_lock

POLL_SECONDS = 0.05
RELEASE_SECONDS = STALE_SECONDS + 2 * BEAT_SECONDS


@contextmanager
def exclusive(path: Path, *, wait: float = 0.0) -> Iterator[None]:
    """Hold `path` for the length of the block; refuse if someone else still does after so many seconds."""
    with _locked(path, wait) as handle:
        overwrite(handle, str(os.getpid()).encode(), path)
        yield


@contextmanager
def sole(path: Path) -> Iterator[Callable[[], None]]:
    """The same among all machines that see it. What is yielded refuses once it is held no more."""

    def refuse(card: Card | None) -> RunError:
        return _refuse(path, "unknown" if card is None else str(card))

    with _locked(path, 0.0) as handle:
        file = HeldFile(handle, path, refuse)
        with file.held():
            yield file.require


@contextmanager
def _locked(path: Path, wait: float) -> Iterator[int]:
    handle = _open(path)
    try:
        try:
            _take(handle, path, wait)
        except BlockingIOError as cause:
            said = os.pread(handle, CARD_BYTES, 0)
            card = Card.read(said)
            holder = f"process {said.decode(errors='replace').strip()}" if card is None else str(card)
            raise _refuse(path, holder if said else "unknown") from cause
        yield handle
    finally:
        os.close(handle)


def _refuse(path: Path, holder: str) -> RunError:
    return RunError(
        "is being written by someone else",
        where=path.parent,
        found=holder,
        do=f"wait for it, or end it: one that has died is let go of within {RELEASE_SECONDS:.0f} s",
    )


def _take(handle: int, path: Path, seconds: float) -> None:
    end = time.monotonic() + seconds
    while True:
        try:
            return take_lock(handle, path)
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
