"""One extraction at a time writes to a folder; a second one is told which process does."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bv_search.errors import OutputError
from bv_search.files import unwritable
from bv_search.holder import Card, HeldFile, kept_fresh, may_take, take_lock
from bv_search.store.folder import Folder, LocalFolder

HOLD = ".extract.lock"


@contextmanager
def hold(folder: Folder) -> Iterator[str]:
    """Hold the lock within the block. Its token tells workers whether their own extraction still has it."""
    if isinstance(folder, LocalFolder):
        with _hold_local(folder.path / HOLD) as token:
            yield token
    else:
        with _hold_remote(folder, card := Card()):
            yield card.token


def require_held(folder: Folder, token: str) -> None:
    """A worker that outlived its extraction must not write into the next one's folder."""
    card = _read(folder)
    if card is None or card.token != token:
        raise OutputError("is not held by this extraction any more", where=folder.url, found=_holder(card))


def _read(folder: Folder) -> Card | None:
    try:
        return Card.read(folder.read(HOLD))
    except FileNotFoundError:
        return None


def _seen(folder: Folder) -> Card | None:
    """For a message."""
    try:
        return _read(folder)
    except (OSError, OutputError):
        return None


def _holder(card: Card | None) -> str:
    return "someone else" if card is None else str(card)


def _refuse(folder: object, card: Card | None) -> OutputError:
    return OutputError(
        "another extraction is writing here",
        where=folder,
        found=_holder(card),
        do="wait for it, end it, or choose another --out",
    )


@contextmanager
def _hold_local(path: Path) -> Iterator[str]:
    """The system lets go of the lock of a process that dies, however it dies."""
    handle = _lock(path)
    try:
        file = HeldFile(handle, path, lambda card: _refuse(path.parent, card))
        with file.held():
            yield file.card.token
    finally:
        if not os.fstat(handle).st_size:  # or it is another machine's
            # while still held: whoever waits for it finds another file under its name, and starts over
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
            take_lock(handle, path)
        except BlockingIOError as error:
            os.close(handle)
            raise _refuse(path.parent, _seen(LocalFolder(path.parent))) from error
        except OutputError:
            os.close(handle)
            raise
        if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
            return handle
        os.close(handle)


@contextmanager
def _hold_remote(folder: Folder, card: Card) -> Iterator[None]:
    """Object storage has no locks: a card put only where there is none."""

    def is_ours() -> bool:
        found = _read(folder)
        return found is not None and found.token == card.token

    def beat() -> None:
        if is_ours():
            folder.write(HOLD, card.to_bytes())

    _take(folder, card)
    try:
        with kept_fresh(beat):
            yield
    finally:
        with suppress(OutputError):  # the card of who has ended is taken for dead
            if is_ours():
                folder.delete(HOLD)


def _take(folder: Folder, card: Card) -> None:
    try:
        folder.create(HOLD, card.to_bytes())
    except FileExistsError:
        if _read(folder) is None or not may_take(lambda: _read(folder)):
            raise _refuse(folder.url, _read(folder)) from None
        folder.delete(HOLD)
        try:
            folder.create(HOLD, card.to_bytes())
        except FileExistsError:
            raise _refuse(folder.url, _read(folder)) from None
