"""One extraction at a time writes to a folder; a second one is told which process does."""

import fcntl
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from bv_search.errors import OutputError
from bv_search.files import overwrite, unwritable
from bv_search.store.folder import Folder, LocalFolder

HOLD = ".extract.lock"
BEAT_SECONDS = 15.0
STALE_SECONDS = 120.0


@contextmanager
def hold(folder: Folder) -> Iterator[str]:
    """Hold the lock within the block. Its token tells workers whether their own extraction still has it."""
    token = uuid.uuid4().hex
    if isinstance(folder, LocalFolder):
        with _hold_local(folder.path / HOLD, token):
            yield token
    else:
        with _hold_remote(folder, token):
            yield token


def require_held(folder: Folder, token: str) -> None:
    """A worker that outlived its extraction must not write into the next one's folder."""
    if _read(folder).get("token") != token:
        raise OutputError(
            "is not held by this extraction any more", where=folder.url, found=_holder(_read(folder))
        )


def _card(token: str) -> bytes:
    """Who we are, for whoever comes second."""
    card = {"token": token, "host": socket.gethostname(), "process": os.getpid(), "at": time.time()}
    return json.dumps(card).encode()


def _read(folder: Folder) -> dict[str, Any]:
    try:
        value = json.loads(folder.read(HOLD))
    except (OSError, ValueError, OutputError):
        return {}
    return value if isinstance(value, dict) else {}


def _holder(card: dict[str, Any]) -> str:
    if not card:
        return "someone else"
    since = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(card.get("at", 0)))
    return f"process {card.get('process')} on {card.get('host')}, since {since}"


def _refuse(folder: object, card: dict[str, Any]) -> OutputError:
    return OutputError(
        "another extraction is writing here",
        where=folder,
        found=_holder(card),
        do="wait for it, end it, or choose another --out",
    )


@contextmanager
def _hold_local(path: Path, token: str) -> Iterator[None]:
    """The system lets go of the lock of a process that dies, however it dies."""
    handle = _lock(path)
    try:
        overwrite(handle, _card(token), path)
        yield
    finally:
        # removed while still held: whoever waits for it finds another file under its name, and starts over
        path.unlink(missing_ok=True)
        os.close(handle)


def _lock(path: Path) -> int:
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise unwritable(path, error) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(handle)
            raise _refuse(path.parent, _read(LocalFolder(path.parent))) from error
        if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
            return handle
        os.close(handle)


@contextmanager
def _hold_remote(folder: Folder, token: str) -> Iterator[None]:
    """Object storage has no locks: a card put only where there is none, kept fresh while its holder lives."""
    _take(folder, token)
    ended = threading.Event()
    beat = threading.Thread(target=_keep_fresh, args=(folder, token, ended), daemon=True)
    beat.start()
    try:
        yield
    finally:
        ended.set()
        beat.join()
        if _read(folder).get("token") == token:
            folder.delete(HOLD)


def _take(folder: Folder, token: str) -> None:
    try:
        folder.create(HOLD, _card(token))
    except FileExistsError:
        card = _read(folder)
        if not _dead(card):
            raise _refuse(folder.url, card) from None
        folder.delete(HOLD)
        try:
            folder.create(HOLD, _card(token))
        except FileExistsError:
            raise _refuse(folder.url, _read(folder)) from None


def _dead(card: dict[str, Any]) -> bool:
    """Its process is known to have ended, or it has not been heard of for long."""
    if card.get("host") == socket.gethostname() and isinstance(card.get("process"), int):
        return not Path(f"/proc/{card['process']}").exists()
    return bool(card) and time.time() - float(card.get("at", 0)) > STALE_SECONDS


def _keep_fresh(folder: Folder, token: str, ended: threading.Event) -> None:
    while not ended.wait(BEAT_SECONDS):
        with suppress(OutputError):  # a network that fails for a moment; the next beat comes soon
            if _read(folder).get("token") == token:
                folder.write(HOLD, _card(token))
