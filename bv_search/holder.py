"""Who holds a place: a card that its holder keeps fresh, for others to read, on other machines too.

The system lets go of the lock of a process that dies, but not every folder that machines share has such
locks, and object storage has none. A card is then what tells a holder that lives from one that is dead.
"""

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Self

from bv_search.errors import BvError, OutputError
from bv_search.files import unwritable

BEAT_SECONDS = 10.0
STALE_SECONDS = 60.0  # without a beat, and nobody lives there any more
CARD_BYTES = 512  # in a file: always as many, so that no reader meets it half written


def take_lock(handle: int, path: Path) -> None:
    """The system's, of a file; BlockingIOError where another process has it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError as error:
        raise OutputError(
            "is on a disk that knows no locks",
            where=path,
            expected="flock, or two could write here at once",
            found=error.strerror or error,
            do="choose a place on another disk, or have this one mounted with locks",
        ) from error


@cache
def this_machine() -> str:
    """Where process numbers mean what they mean here: a boot of a kernel, and one of its containers."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
    except OSError:
        return socket.gethostname()


def _begun(process: int) -> str | None:
    """When a process of this machine began: its number may be another's by now. None where there is none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return None


@dataclass(frozen=True, kw_only=True)
class Card:
    token: str = field(default_factory=lambda: uuid.uuid4().hex)  # of this holding, among all there were
    host: str = field(default_factory=socket.gethostname)
    machine: str = field(default_factory=this_machine)
    process: int = field(default_factory=os.getpid)
    begun: str | None = field(default_factory=lambda: _begun(os.getpid()))
    since: float = field(default_factory=time.time)
    at: float = field(default_factory=time.time)  # it was made fresh

    @classmethod
    def read(cls, data: bytes) -> Self | None:
        try:
            return cls(**json.loads(data))
        except (ValueError, TypeError):
            return None

    def to_bytes(self) -> bytes:
        """As of now."""
        return json.dumps({**asdict(self), "at": time.time()}).encode()

    @property
    def is_dead(self) -> bool:
        """Its process is known to have ended, or it has not been heard of for long."""
        if self.machine == this_machine():
            return _begun(self.process) != self.begun
        return time.time() - self.at > STALE_SECONDS

    def __str__(self) -> str:
        since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self.since))
        heard = f", last heard of {max(0.0, time.time() - self.at):.0f} s ago"
        return f"process {self.process} on {self.host}, since {since}{heard}"


def may_take(read: Callable[[], Card | None]) -> bool:
    """Whether who holds a place has died. The clocks of two machines may differ: one whose last beat seems
    long ago is watched for the time of the next."""
    card = read()
    if card is None or not card.is_dead:
        return card is None
    if card.machine != this_machine():
        time.sleep(1.5 * BEAT_SECONDS)
    return read() == card


@contextmanager
def kept_fresh(beat: Callable[[], object]) -> Iterator[None]:
    """A beat now and then. One that fails is made up for by the next."""
    ended = threading.Event()

    def keep() -> None:
        while not ended.wait(BEAT_SECONDS):
            with suppress(OutputError):  # a network that fails for a moment, say
                beat()

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


class HeldFile:
    """A file that this process has the system's lock of, with a card for those whom that does not reach."""

    def __init__(self, handle: int, path: Path, refuse: Callable[[Card | None], BvError]) -> None:
        self._handle, self._path, self._refuse = handle, path, refuse
        self.card = Card()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Nobody on another machine holds it either, or that is refused."""
        if not may_take(self._elsewhere):
            raise self._refuse(self._read())
        self._write()
        self.require()
        try:
            with kept_fresh(self._beat):
                yield
        finally:
            if self._is_ours:
                os.ftruncate(self._handle, 0)

    def require(self) -> None:
        """It still is so: this machine may have slept for longer than others wait."""
        if not self._is_ours:
            raise self._refuse(self._read())

    @property
    def _is_ours(self) -> bool:
        found = self._read()
        return found is not None and found.token == self.card.token

    def _read(self) -> Card | None:
        with suppress(OSError):  # opened anew: a network's file system looks again only then
            return Card.read(self._path.read_bytes())
        return None

    def _elsewhere(self) -> Card | None:
        """Of a holder on this machine the lock says enough."""
        found = self._read()
        return None if found is None or found.machine == this_machine() else found

    def _beat(self) -> None:
        if self._is_ours:
            self._write()

    def _write(self) -> None:
        try:
            os.pwrite(self._handle, self.card.to_bytes().ljust(CARD_BYTES), 0)
        except OSError as error:
            raise unwritable(self._path, error) from error
