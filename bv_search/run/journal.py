"""The journal: what happened in a run, append-only, each line with its own checksum.

A line is a JSON object that begins with the checksum of the rest: {"xxh3":"89ab…","event":"segment",…}.
Events that are appended together stand on one line, {"xxh3":"…","events":[…]}: all of them count, or none.
They are on disk when `append` returns. A writer that died in the middle of a line leaves a torn tail, which
was never promised to anyone: readers pass over it, and the next writer cuts it. Damage anywhere else is an
error.
"""

import fcntl
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import xxhash

from bv_search.document import Unreadable, load_json, read_plain
from bv_search.errors import OutputError, RunError
from bv_search.files import CHUNK, DISK

HEAD = b'{"xxh3":"'
DAMAGED = "restore the journal from a copy, or start a new run"
ZEROS = b"\0\0"  # two, so that one flipped bit in the last line is damage, not a torn tail
SUM_LENGTH = 16
BODY_AT = len(HEAD) + SUM_LENGTH + len('",')

Event = dict[str, Any]


class Journal:
    """`guard` refuses a line of whom the run does not belong to any more."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.guard: Callable[[], None] = lambda: None

    def append(self, *events: Mapping[str, Any]) -> None:
        """Write events for good, all or none. One without a time gets one ("at", seconds since 1970)."""
        timed = [{**event, "at": event.get("at", round(time.time(), 3))} for event in events]
        line = _line(timed[0] if len(timed) == 1 else {"events": timed})
        self.guard()
        try:
            with self._locked() as handle:
                end = _cut_torn_tail(handle, self.path)
                with _taken_back(handle, end):
                    _write_at(handle, line, end)
                    os.fsync(handle)
        except OSError as cause:
            raise OutputError(
                "cannot be written",
                where=self.path,
                found=cause.strerror or cause,
                do="free space, then resume the run",
            ) from cause

    def read(self) -> list[Event]:
        """All events that were written whole."""
        return list(self.stream())

    def stream(self) -> Iterator[Event]:
        """One by one: those of a large search fill ten times the memory of their lines."""
        for number, line in enumerate(self._lines(0), start=1):
            yield from _events(line, number, self.path)

    def read_on(self, offset: int, most: int | None = None) -> tuple[list[Event], int]:
        """Events of so many whole lines behind a place where one begins; and where to read on."""
        lines = self._lines(offset) if most is None else self._first_lines(offset, most)
        found = [e for number, line in enumerate(lines, start=1) for e in _events(line, number, self.path)]
        return found, offset + sum(len(line) + 1 for line in lines)

    def _lines(self, offset: int) -> list[bytes]:
        return _whole_lines(self._bytes(offset), self.path)

    def _first_lines(self, offset: int, most: int) -> list[bytes]:
        """Reads little more than these: who reads on in portions reads all of it once."""
        data = b""
        while data.count(b"\n") <= most:  # the last line of all is looked at more closely
            part = self._bytes(offset + len(data), CHUNK)
            data += part
            if len(part) < CHUNK:
                return _whole_lines(data, self.path)[:most]
        return data.split(b"\n", most)[:most]

    def _bytes(self, offset: int, length: int = -1) -> bytes:
        return read_plain(self.path, RunError, do="give the folder of a run", offset=offset, length=length)

    @contextmanager
    def _locked(self) -> Iterator[int]:
        new = not self.path.exists()
        handle = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            if new:
                DISK.sync_folder(self.path.parent)
            yield handle
        finally:
            os.close(handle)


@contextmanager
def _taken_back(handle: int, end: int) -> Iterator[None]:
    """What could not be written whole; where not even that can be done, it is a torn tail."""
    try:
        yield
    except OSError:
        with suppress(OSError):
            os.ftruncate(handle, end)
        raise


def _line(event: Event) -> bytes:
    body = _json(event).encode()[1:]
    return _head(body) + body + b"\n"


def _head(body: bytes) -> bytes:
    return HEAD + xxhash.xxh3_64_hexdigest(body).encode() + b'",'


def _json(value: Any) -> str:
    """JSON has no NaN: a score that diverged is no score. They are rare, and looking for them takes long."""
    write = partial(json.dumps, separators=(",", ":"), allow_nan=False, default=_plain)
    try:
        return write(value)
    except ValueError:
        return write(_finite(value))


def _plain(value: Any) -> Any:
    """What JSON knows, of a mapping, or of NumPy's numbers."""
    return dict(value) if isinstance(value, Mapping) else value.tolist()


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if hasattr(value, "tolist"):
        return _finite(value.tolist())
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _sound(line: bytes) -> bool:
    return line[:BODY_AT] == _head(line[BODY_AT:])


def _split(data: bytes, path: Path) -> tuple[bytes, bytes]:
    """Whole lines, and what a dying writer left behind them.

    After a power cut a file may have its new length and zeros for its content: a last line with zeros is
    torn too. One that is whole but for its newline, in whose place stands something else, is none that a
    writer left.
    """
    end = data.rfind(b"\n") + 1
    if end and end == len(data):
        start = data.rfind(b"\n", 0, end - 1) + 1
        if ZEROS in data[start:end]:
            end = start
    if _sound(data[end:-1]):
        raise _damage(path, data[:end].count(b"\n") + 1, expected="a newline at its end", found=data[-1:])
    return data[:end], data[end:]


def _whole_lines(data: bytes, path: Path) -> list[bytes]:
    whole, _ = _split(data, path)
    return whole.split(b"\n")[:-1]


def _damage(path: Path, number: int, *, expected: str, found: object) -> RunError:
    return RunError("is damaged", where=f"{path} line {number}", expected=expected, found=found, do=DAMAGED)


def _events(line: bytes, number: int, path: Path) -> list[Event]:
    if not _sound(line):
        expected = f"checksum {line[len(HEAD) : len(HEAD) + SUM_LENGTH].decode(errors='replace')}"
        raise _damage(path, number, expected=expected, found=xxhash.xxh3_64_hexdigest(line[BODY_AT:]))
    try:
        said: Event = load_json(line.decode())
    except (UnicodeDecodeError, Unreadable) as cause:
        raise _damage(path, number, expected="JSON", found=cause) from cause
    del said["xxh3"]
    events = said.get("events", [said])
    if not isinstance(events, list) or not all(isinstance(event, dict) for event in events):
        raise _damage(path, number, expected="a list of events", found=type(events).__name__)
    return events


def _cut_torn_tail(handle: int, path: Path) -> int:
    """Where the next line goes. A line that only lost its newline was never promised either, and goes too."""
    size = os.fstat(handle).st_size
    if _ends_whole(handle, size):
        return size
    whole, tail = _split(_read_all(handle, size), path)
    if tail:
        os.ftruncate(handle, len(whole))
        os.fsync(handle)
    assert len(whole) + len(tail) == size, path
    return len(whole)


def _ends_whole(handle: int, size: int) -> bool:
    """Judged by the last line, which may be long."""
    length = 4096
    while True:
        end = os.pread(handle, length, max(0, size - length))
        line = end[end.rfind(b"\n", 0, -1) + 1 :]
        if len(line) < len(end) or length >= size:
            return line.endswith(b"\n") and ZEROS not in line
        length *= 4


def _read_all(handle: int, size: int) -> bytes:
    data = b""
    while len(data) < size and (more := os.pread(handle, size - len(data), len(data))):
        data += more
    return data


def _write_at(handle: int, data: bytes, offset: int) -> None:
    while data:
        written = os.pwrite(handle, data, offset)
        data, offset = data[written:], offset + written
