"""Files that are whole or absent: atomic writes, digests, names that stay in their folder."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol, Self, TypeVar

import xxhash

from bv_search.document import Mismatch, Unreadable, decode, load_json, read_plain
from bv_search.document.limits import DOCUMENT_BYTES
from bv_search.errors import OutputError, UserError

T = TypeVar("T")
CHUNK = 1 << 20


class Writable(Protocol):
    def write(self, data: bytes | memoryview, /) -> object: ...


class Disk:
    """The calls that make bytes last. A test passes one that fails at each of them in turn."""

    def write(self, file: BinaryIO, write: Callable[[BinaryIO], object]) -> None:
        write(file)
        file.flush()

    def write_at(self, handle: int, data: memoryview, offset: int) -> None:
        while data:
            written = os.pwrite(handle, data, offset)
            data, offset = data[written:], offset + written

    def sync(self, handle: int) -> None:
        os.fsync(handle)

    def sync_folder(self, folder: Path) -> None:
        """fsync the folder too, or a rename in it can vanish with the power."""
        handle = os.open(folder, os.O_RDONLY)
        try:
            self.sync(handle)
        finally:
            os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        old.replace(new)

    def link(self, old: Path, new: Path) -> None:
        new.hardlink_to(old)


DISK = Disk()


class _Together(Disk):
    """Remembers folders, to sync each once."""

    def __init__(self) -> None:
        self._folders: set[Path] = set()

    def sync_folder(self, folder: Path) -> None:
        self._folders.add(folder)

    def sync_all(self) -> None:
        for folder in self._folders:
            try:
                super().sync_folder(folder)
            except OSError as error:
                raise unwritable(folder, error) from error


@contextmanager
def together() -> Iterator[Disk]:
    """For files that count only once all are there: what is written to it lasts when the block has ended."""
    disk = _Together()
    yield disk
    disk.sync_all()


class DigestingFile:
    """Passes on what is written, and keeps its size and digest."""

    closed = False  # Arrow asks before it writes

    def __init__(self) -> None:
        self.size, self._state = 0, xxhash.xxh3_128()
        self._file: Writable | None = None

    def over(self, file: Writable) -> Self:
        self._file = file
        return self

    def write(self, data: bytes | memoryview) -> None:
        assert self._file is not None, "a file stands below"
        self._file.write(data)
        self._state.update(data)
        self.size += len(data)

    def flush(self) -> None: ...

    @property
    def digest(self) -> str:
        return f"xxh3:{self._state.hexdigest()}"


def write_atomic(path: Path, write: Callable[[BinaryIO], object], disk: Disk = DISK) -> None:
    """Nobody ever sees a half-written `path`, not even after a power cut."""
    part = part_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("wb") as file:
            disk.write(file, write)
            disk.sync(file.fileno())
        disk.rename(part, path)
        disk.sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        remove_part(part)


def part_of(path: Path) -> Path:
    """Where `path` is written before it is whole."""
    return path.with_name(f".{path.name}.{os.getpid()}.part")


PARTS = ".*.part"
"""Every name that `part_of` gives."""


def parts_of(path: Path) -> Iterator[Path]:
    """What processes that were killed have left of `path`, or are writing now."""
    return path.parent.glob(f".{escape(path.name)}.*.part")


def remove_part(part: Path) -> None:
    """Best effort: whatever is left of a part is never read."""
    with suppress(OSError):
        part.unlink(missing_ok=True)


def overwrite(handle: int, data: bytes, path: Path) -> None:
    """In place of what an open file holds; for a lock, which must stay the same file."""
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, data, 0)
    except OSError as error:
        raise unwritable(path, error) from error


def unwritable(path: object, error: OSError) -> OutputError:
    found = error.strerror or error
    return OutputError("cannot be written", where=path, found=found, do="free space or choose another place")


def check_makeable(folder: Path) -> None:
    """Refuse a folder that is not there and cannot be made, before any work."""
    place = real_path(folder)
    nearest = next(each for each in (place, *place.parents) if each.exists())
    found = None
    if not nearest.is_dir():
        found = f"{nearest} is a file"
    elif not os.access(nearest, os.W_OK | os.X_OK):
        found = f"{nearest} is closed to you"
    if found:
        raise OutputError("cannot be written", where=folder, found=found, do="choose another place")


def write_bytes(path: Path, data: bytes, disk: Disk = DISK) -> None:
    write_atomic(path, lambda file: file.write(data), disk)


def write_text(path: Path, text: str, disk: Disk = DISK) -> None:
    write_bytes(path, text.encode(), disk)


def write_json(path: Path, value: object, disk: Disk = DISK) -> None:
    write_text(path, json.dumps(value, indent=2, sort_keys=False, allow_nan=False) + "\n", disk)


@contextmanager
def folder_being_made(path: Path) -> Iterator[Path]:
    """A folder that appears under `path` only once the block has ended well."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    try:
        part.mkdir(parents=True)
        yield part
        for file in sorted(part.rglob("*")):
            _sync(file)
        part.rename(path)
        DISK.sync_folder(path.parent)
    except OSError as error:
        raise unwritable(path, error) from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _sync(path: Path) -> None:
    if path.is_dir():
        DISK.sync_folder(path)
        return
    with path.open("rb") as file:
        os.fsync(file.fileno())


def read_json(path: Path, error: type[UserError], *, do: str | None = None) -> dict[str, Any]:
    """The JSON object in a file, or `error` with one line on what is wrong with it."""
    data = read_plain(path, error, limit=DOCUMENT_BYTES, do=do)
    try:
        value = load_json(data.decode("utf-8"))
    except UnicodeDecodeError as cause:
        found = f"byte {cause.start} is {cause.object[cause.start]:#x}"
        raise error("is not UTF-8", where=path, found=found, do=do) from cause
    except Unreadable as cause:
        raise error("is damaged", where=path, expected="JSON", found=cause.found, do=do) from cause
    if not isinstance(value, dict):
        raise error("is damaged", where=path, expected="a JSON object", found=type(value).__name__, do=do)
    return value


DIGEST = "digest"  # the key by which a JSON object carries the digest of all else in it


def write_signed(path: Path, value: Mapping[str, Any], disk: Disk = DISK) -> None:
    """With its own digest, so that it may travel alone."""
    plain = json.loads(json.dumps(value, allow_nan=False))  # as it will be read
    write_json(path, {**plain, DIGEST: digest_json(plain)}, disk)


def read_signed(path: Path, error: type[UserError], *, do: str | None = None) -> dict[str, Any]:
    """What `write_signed` wrote, without its digest, or `error`."""
    return check_signed(read_json(path, error, do=do), where=path, error=error)


def check_signed(value: Mapping[str, Any], *, where: object, error: type[UserError]) -> dict[str, Any]:
    """Without its digest, if that is right."""
    signed = {key: item for key, item in value.items() if key != DIGEST}
    if DIGEST not in value:
        raise error(
            "carries no digest",
            where=where,
            expected="what this version of bv_search writes",
            do="make it anew, or read it with the version that wrote it",
        )
    if (found := digest_json(signed)) != value[DIGEST]:
        raise error("is damaged", where=where, expected=f"digest {value[DIGEST]}", found=found, do=RESTORE)
    return signed


RESTORE = "restore it from a copy, or make it anew"


def check_digest(data: bytes, expected: str, *, where: object, error: type[UserError]) -> None:
    if (found := digest_bytes(data)) != expected:
        raise error("is damaged", where=where, expected=f"digest {expected}", found=found, do=RESTORE)


def decode_at(
    kind: type[T],
    value: Any,
    error: type[UserError],
    *,
    where: object,
    what: str = "makes no sense",
    do: str | None = None,
    more: bool = False,
) -> T:
    """A decoded document as a `kind`, or `error` with the place in it that makes no sense."""
    try:
        return decode(kind, value, more=more)
    except Mismatch as cause:
        at = cause.path.lstrip(".")
        raise error(
            f"{what}: {at}" if at else what,
            where=where,
            expected=cause.expected,
            found=repr(cause.found),
            do=do,
        ) from cause


def digest_bytes(data: bytes | bytearray | memoryview) -> str:
    return f"xxh3:{xxhash.xxh3_128_hexdigest(data)}"


def digest_file(path: Path) -> str:
    state = xxhash.xxh3_128()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            state.update(chunk)
    return f"xxh3:{state.hexdigest()}"


def digest_json(value: Mapping[str, Any]) -> str:
    """One digest for equal values, whatever the order of their keys."""
    return digest_bytes(json.dumps(value, sort_keys=True, separators=(",", ":")).encode())


def cache_folder() -> Path:
    """Of what can be made or fetched again: BV_CACHE, or the user's own."""
    named = os.environ.get("BV_CACHE")
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home_path(named) if named else base / "bv-search"


def home_path(place: str | Path) -> Path:
    """A path as the user wrote it, with ~ as a shell would read it; what cannot be one is refused."""
    text = str(place)
    if not text or "\0" in text:
        raise UserError("is no place", where=repr(text), expected="a path")
    try:
        text.encode()
        return Path(text).expanduser()
    except (
        UnicodeEncodeError
    ) as error:  # of bytes that are no text, as a disk allows; no document can name it
        raise UserError("is no text", where=text, expected="a path in UTF-8", do="rename it") from error
    except RuntimeError as error:
        raise UserError("is nobody's home", where=text, found=error, do="write the path out") from error


def real_path(path: Path) -> Path:
    """Where a path leads, by all its links."""
    try:
        return path.resolve()
    except (RuntimeError, OSError, ValueError) as error:  # links in a circle; a zero byte
        raise UserError("leads nowhere", where=path, found=error, do="choose another place") from error


def absolute(place: str) -> str:
    """As a process sees it that stands in another folder, or a later one. Addresses stay as they are."""
    return place if "://" in place else str(real_path(home_path(place)))


def absolute_if_there(name: str) -> str:
    """The same of what is on this disk; other names may be ones of the Hub."""
    path = home_path(name)
    return absolute(name) if path.is_absolute() or path.exists() else name


def confine(folder: Path, name: str, error: type[UserError]) -> Path:
    """`folder/name`, if that name stays inside the folder."""
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or "\\" in name or "\0" in name or not pure.parts:
        raise error("names a file outside its folder", where=folder, found=repr(name))
    return folder.joinpath(*pure.parts)
