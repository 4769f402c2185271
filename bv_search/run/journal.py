"""The journal: what happened in a run, one event a line, append-only, each line with its own checksum.

A line is a JSON object that begins with the checksum of the rest: {"xxh3":"89ab…","event":"segment",…}.
An event is on disk when `append` returns. A writer that died in the middle of a line leaves a torn tail,
which was never promised to anyone: readers pass over it, and the next writer cuts it. Damage anywhere else
is an error.
"""

import fcntl
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import xxhash

from bv_search.errors import OutputError, RunError
from bv_search.files import sync_folder

HEAD = b'{"xxh3":"'
ZEROS = b"\0\0"  # two, so that one flipped bit in the last line is damage, not a torn tail
SUM_LENGTH = 16
BODY_AT = len(HEAD) + SUM_LENGTH + len('",')

Event = dict[str, Any]


class Journal:
    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, *events: Mapping[str, Any]) -> None:
        """Write events for good. An event without a time gets one ("at", seconds since 1970)."""
        lines = b"".join(_line({**event, "at": event.get("at", round(time.time(), 3))}) for event in events)
        with self._locked() as handle:
            end = _cut_torn_tail(handle, self.path)
            try:
                _write_at(handle, lines, end)
                os.fsync(handle)
            except OSError as cause:
                os.ftruncate(handle, end)
                raise OutputError(
                    "cannot be written",
                    where=self.path,
                    found=cause.strerror or cause,
                    do="free space, then resume the run",
                ) from cause

    def read(self) -> list[Event]:
        """All events that were written whole."""
        try:
            data = self.path.read_bytes()
        except OSError as cause:
            raise RunError(
                "cannot be read",
                where=self.path,
                found=cause.strerror or cause,
                do="give the folder of a run",
            ) from cause
        whole, _ = _split(data)
        return [
            _event(line, number, self.path) for number, line in enumerate(whole.split(b"\n")[:-1], start=1)
        ]

    @contextmanager
    def _locked(self) -> Iterator[int]:
        new = not self.path.exists()
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if new:
                sync_folder(self.path.parent)
            yield handle
        finally:
            os.close(handle)


def _line(event: Event) -> bytes:
    body = json.dumps(_plain(event), separators=(",", ":"), allow_nan=False).encode()[1:]
    return _head(body) + body + b"\n"


def _head(body: bytes) -> bytes:
    return HEAD + xxhash.xxh3_64_hexdigest(body).encode() + b'",'


def _plain(value: Any) -> Any:
    """JSON has no NaN and no NumPy numbers: a score that diverged is no score."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _sound(line: bytes) -> bool:
    return line[:BODY_AT] == _head(line[BODY_AT:])


def _split(data: bytes) -> tuple[bytes, bytes]:
    """Whole lines, and what a dying writer left behind them.

    After a power cut a file may have its new length and zeros for its content: a last line with zeros is
    torn too.
    """
    end = data.rfind(b"\n") + 1
    if end and end == len(data):
        start = data.rfind(b"\n", 0, end - 1) + 1
        if ZEROS in data[start:end]:
            end = start
    return data[:end], data[end:]


def _event(line: bytes, number: int, path: Path) -> Event:
    if not _sound(line):
        raise RunError(
            "is damaged",
            where=f"{path} line {number}",
            expected=f"checksum {line[len(HEAD) : len(HEAD) + SUM_LENGTH].decode(errors='replace')}",
            found=xxhash.xxh3_64_hexdigest(line[BODY_AT:]),
            do="restore the journal from a copy, or start a new run",
        )
    event: Event = json.loads(line)
    del event["xxh3"]
    return event


def _cut_torn_tail(handle: int, path: Path) -> int:
    """Where the next line goes. A line that only lost its newline was never promised either, and goes too."""
    size = os.fstat(handle).st_size
    if size == 0:
        return 0
    if os.pread(handle, 1, size - 1) == b"\n" and ZEROS not in os.pread(handle, 4096, max(0, size - 4096)):
        return size
    whole, tail = _split(_read_all(handle, size))
    if tail:
        os.ftruncate(handle, len(whole))
        os.fsync(handle)
    assert len(whole) + len(tail) == size, path
    return len(whole)


def _read_all(handle: int, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := os.pread(handle, size - len(data), len(data))):
        data += more
    return data


def _write_at(handle: int, data: bytes, offset: int) -> None:
    while data:
        written = os.pwrite(handle, data, offset)
        data, offset = data[written:], offset + written
