"""The one way to the files of a store, on a local disk or behind any fsspec file system.

Names are relative, with forward slashes, and cannot leave the folder.
"""

import shutil
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

import fsspec

from bv_search.document import check_plain
from bv_search.errors import OutputError, StoreError, UserError
from bv_search.files import (
    DISK,
    PARTS,
    DigestingFile,
    Disk,
    Writable,
    cache_folder,
    confine,
    digest_bytes,
    digest_file,
    home_path,
    part_of,
    real_path,
    remove_part,
    unwritable,
    write_atomic,
)
from bv_search.store.node_cache import NodeCache
from bv_search.store.pending_file import PendingFile, PendingLocalFile

PIECE_BYTES = 16 << 20
"""Large objects travel in pieces of this size, of which a few are in memory."""

CLIENTS = ("aiobotocore", "aiohttp", "botocore")


class Folder(ABC):
    """Files that are whole or absent: `write` and `create` never leave a part of one behind."""

    url: str
    is_far: bool  # its local files are copies, which come and go

    @abstractmethod
    def present(self) -> bool:
        """Is there anything at this place?"""

    @abstractmethod
    def exists(self, name: str) -> bool: ...

    @abstractmethod
    def size(self, name: str) -> int | None:
        """Bytes of a file, or None where there is none."""

    @abstractmethod
    def names(self, under: str = "") -> list[str]:
        """Every file under a folder, sorted."""

    @abstractmethod
    def top(self) -> list[str]:
        """What stands directly in this folder, sorted."""

    @abstractmethod
    def read(self, name: str) -> bytes: ...

    @abstractmethod
    def write(self, name: str, data: bytes | memoryview) -> None: ...

    @abstractmethod
    def stream(self, name: str, write: Callable[[DigestingFile], object]) -> DigestingFile:
        """A large file that is made as it is written, and never stands in memory."""

    @abstractmethod
    def begin(self, name: str, size: int) -> PendingFile:
        """A large file, filled piece by piece."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> None:
        """Write a file that must not be there yet: of two at once, one gets FileExistsError."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a file, or a folder and all in it; absent is fine."""

    @abstractmethod
    def sweep(self) -> None:
        """Remove what processes that were killed had not finished; for whoever alone writes here."""

    @abstractmethod
    def local(self, name: str, digest: str) -> Path:
        """A file of this machine with the same bytes, as long as this folder is open."""

    @abstractmethod
    def held(self, name: str, digest: str, size: int) -> AbstractContextManager[Path]:
        """The same of a large file, which may be gone afterwards: who maps it meanwhile keeps it."""


class LocalFolder(Folder):
    is_far = False

    def __init__(self, path: Path, disk: Disk = DISK) -> None:
        self.path, self.disk = path, disk
        self.url = str(path)

    def present(self) -> bool:
        return self.path.exists()

    def exists(self, name: str) -> bool:
        return self._at(name).exists()

    def size(self, name: str) -> int | None:
        try:
            return self._at(name).stat().st_size
        except (FileNotFoundError, NotADirectoryError):
            return None

    def names(self, under: str = "") -> list[str]:
        top = self._at(under) if under else self.path
        return sorted(file.relative_to(self.path).as_posix() for file in top.rglob("*") if file.is_file())

    def top(self) -> list[str]:
        if not self.path.exists():
            return []
        if not self.path.is_dir():
            raise OutputError("is a file", where=self.path, expected="a folder")
        return sorted(each.name for each in self.path.iterdir())

    def read(self, name: str) -> bytes:
        return self.local(name, "").read_bytes()

    def write(self, name: str, data: bytes | memoryview) -> None:
        write_atomic(self._at(name), lambda file: file.write(data), self.disk)

    def stream(self, name: str, write: Callable[[DigestingFile], object]) -> DigestingFile:
        sink = DigestingFile()
        write_atomic(self._at(name), lambda file: write(sink.over(file)), self.disk)
        return sink

    def begin(self, name: str, size: int) -> PendingFile:
        return PendingLocalFile(self._at(name), size, self.disk)

    def create(self, name: str, data: bytes) -> None:
        path = self._at(name)
        part = part_of(path)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("wb") as file:
                self.disk.write(file, lambda file: file.write(data))
                self.disk.sync(file.fileno())
            # a link, unlike a rename, fails where the name is taken
            self.disk.link(part, path)
            self.disk.sync_folder(path.parent)
        except FileExistsError:
            raise
        except OSError as error:
            raise unwritable(path, error) from error
        finally:
            remove_part(part)

    def delete(self, name: str) -> None:
        path = self._at(name)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def sweep(self) -> None:
        for part in self.path.rglob(PARTS):
            remove_part(part)

    def local(self, name: str, digest: str) -> Path:
        """Of a pipe or a device nobody would see the end."""
        path = self._at(name)
        if path.exists() and not path.is_dir():
            check_plain(path, StoreError)
        return path

    def held(self, name: str, digest: str, size: int) -> AbstractContextManager[Path]:
        return nullcontext(self.local(name, digest))

    def _at(self, name: str) -> Path:
        path = confine(self.path, name, StoreError)
        # a link inside the store could lead out of it as well as a name
        if not real_path(path).is_relative_to(real_path(self.path)):
            raise StoreError("leads out of its folder", where=path, found=real_path(path))
        return path


class RemoteFolder(Folder):
    """Object storage: a put is atomic, there is no rename, and a conditional put commits.

    What is read of it is copied once a machine, into a node cache of at most so many bytes.
    """

    is_far = True

    def __init__(self, url: str, cache: int | None = None) -> None:
        self.url = url.rstrip("/")
        self.fs, self.root = _file_system(self.url)
        self.cache = NodeCache(cache_folder() / "blocks", cache)
        self._kept: dict[str, Path] = {}
        self._holds = ExitStack()

    def present(self) -> bool:
        return bool(self.names())

    def exists(self, name: str) -> bool:
        return bool(self._do(lambda: self.fs.exists(self._at(name)), name))

    def size(self, name: str) -> int | None:
        try:
            return int(self._ask(lambda: self.fs.info(self._at(name)), name)["size"])
        except FileNotFoundError:
            return None

    def names(self, under: str = "") -> list[str]:
        top = self._at(under) if under else self.root
        try:
            found = self._ask(lambda: self.fs.find(top), under)
        except FileNotFoundError:
            return []
        return sorted(name.removeprefix(self.root).lstrip("/") for name in found)

    def top(self) -> list[str]:
        return sorted({name.split("/")[0] for name in self.names()})

    def read(self, name: str) -> bytes:
        data: bytes = self._ask(lambda: self.fs.cat_file(self._at(name)), name)
        return data

    def write(self, name: str, data: bytes | memoryview) -> None:
        self._do(lambda: self.fs.pipe_file(self._at(name), bytes(data)), name)

    def stream(self, name: str, write: Callable[[DigestingFile], object]) -> DigestingFile:
        sink = DigestingFile()
        self.upload(name, lambda file: write(sink.over(file)))
        return sink

    def upload(self, name: str, write: Callable[[Writable], object]) -> None:
        """Piece by piece; the object appears when the last one has arrived."""
        self._do(lambda: self._upload(name, write), name)

    def _upload(self, name: str, write: Callable[[Writable], object]) -> None:
        file = self.fs.open(self._at(name), "wb", block_size=PIECE_BYTES, autocommit=False)
        try:
            write(file)
            file.close()
        except BaseException:
            file.discard()
            file.forced = True  # or closing it, which its end does, would begin another upload
            raise
        file.commit()

    def begin(self, name: str, size: int) -> PendingFile:
        return _RemotePart(self, name)

    def create(self, name: str, data: bytes) -> None:
        self._do(lambda: self.fs.pipe_file(self._at(name), data, mode="create"), name)

    def delete(self, name: str) -> None:
        try:
            self._ask(lambda: self.fs.rm(self._at(name), recursive=True), name)
        except FileNotFoundError:
            return

    def sweep(self) -> None:
        """Nothing of an upload that broke off is visible."""

    def local(self, name: str, digest: str) -> Path:
        if digest not in self._kept:
            size = self.size(name)
            if size is None:
                raise FileNotFoundError(f"{self.url}/{name}")
            self._kept[digest] = self._holds.enter_context(self.held(name, digest, size))
        return self._kept[digest]

    def held(self, name: str, digest: str, size: int) -> AbstractContextManager[Path]:
        """One copy a machine, named by its bytes; one that the disk has damaged is fetched anew."""

        def fill(file: BinaryIO) -> None:
            self._download(name, size, digest, DigestingFile().over(file))

        return self.cache.held(digest.replace(":", "-"), digest, size, fill)

    def _download(self, name: str, size: int, digest: str, sink: DigestingFile) -> None:
        for start in range(0, size, PIECE_BYTES):
            sink.write(self._fetch(name, start, min(start + PIECE_BYTES, size)))
        if sink.digest != digest:
            raise damaged(f"{self.url}/{name}", digest, sink.digest)

    def _fetch(self, name: str, start: int, end: int) -> bytes:
        try:
            data: bytes = self._ask(partial(self._read_range, name, start, end), name)
        except FileNotFoundError as error:
            raise FileNotFoundError(f"{self.url}/{name}") from error
        return data

    def _read_range(self, name: str, start: int, end: int) -> bytes:
        data: bytes = self.fs.cat_file(self._at(name), start=start, end=end)
        return data

    def _at(self, name: str) -> str:
        confine(Path("/"), name, StoreError)
        return f"{self.root}/{name}"

    def _do(self, act: Callable[[], Any], name: str) -> Any:
        """A call for which something has to be there: a bucket to write to, an object to read."""
        try:
            return self._ask(act, name)
        except FileNotFoundError as error:
            raise self._unreached(name, error) from error

    def _ask(self, act: Callable[[], Any], name: str) -> Any:
        """A call that may find nothing."""
        try:
            return act()
        except (FileExistsError, FileNotFoundError, UserError):
            raise
        except Exception as error:
            if isinstance(error, OSError) or _is_of_client(error):
                raise self._unreached(name, error) from error
            raise

    def _unreached(self, name: str, error: Exception) -> OutputError:
        keys = "keys (AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY) and endpoint (AWS_ENDPOINT_URL)"
        return OutputError(
            "cannot be reached",
            where=f"{self.url}/{name}".rstrip("/"),
            found=error,
            do=f"check the address, its {keys if self.url.startswith('s3') else 'keys and endpoint'}",
        )


class _RemotePart(PendingFile):
    """One put of the whole at the end: an object appears at once or not at all."""

    def __init__(self, folder: RemoteFolder, name: str) -> None:
        self._folder, self._name = folder, name

    def put(self, pieces: list[tuple[int, memoryview]]) -> None: ...

    def commit(self, whole: list[memoryview]) -> None:
        pieces = (data[at : at + PIECE_BYTES] for data in whole for at in range(0, len(data), PIECE_BYTES))
        self._folder.upload(self._name, lambda file: [file.write(piece) for piece in pieces])

    def abandon(self) -> None: ...


def _file_system(url: str) -> tuple[Any, str]:
    try:
        fs, root = fsspec.url_to_fs(url)
    except (ImportError, ValueError) as error:
        raise StoreError(
            "cannot be opened",
            where=url,
            found=error,
            do="install the extra of that store, as in `pip install 'bv-search[s3]'`",
        ) from error
    return fs, str(root).rstrip("/")


def _is_of_client(error: Exception) -> bool:
    """Without credentials or network, what speaks to S3 raises errors of its own that are no OSError."""
    return any(kind.__module__.partition(".")[0] in CLIENTS for kind in type(error).__mro__)


def open_folder(place: str | Path, disk: Disk = DISK, *, cache: int | None = None) -> Folder:
    """`cache` is how many bytes of far files this machine keeps; None: as many as its disk has room for."""
    text = str(place)
    if "://" in text and not text.startswith("file://"):
        return RemoteFolder(text, cache)
    return LocalFolder(home_path(text.removeprefix("file://")), disk)


def damage(folder: Folder, name: str, size: int, digest: str) -> str | None:
    """What stands where a file with this size and digest should, or None when it is that file."""
    found = folder.size(name)
    if found is None:
        return "no file"
    if found != size:
        return f"{found} bytes"
    actual = (
        digest_file(folder.local(name, digest))
        if isinstance(folder, LocalFolder)
        else digest_bytes(folder.read(name))
    )
    return None if actual == digest else actual


def damaged(where: str, expected: str, found: str) -> StoreError:
    return StoreError(
        "is damaged",
        where=where,
        expected=expected,
        found=found,
        do="run the same `bv-search extract` with --repair",
    )
