"""The bytes of a plain file. Whoever opens a pipe waits for its writer, and a device may have no end."""

import os
import stat
from pathlib import Path

from bv_search.errors import UserError

KINDS = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
}


def check_plain(path: Path, error: type[UserError], *, do: str | None = None) -> int:
    """The size of a file; anything else of that name, or nothing, is refused unopened."""
    try:
        found = os.stat(path)  # noqa: PTH116 - of a name with a zero byte, Path says that there is nothing
    except FileNotFoundError as cause:
        raise error("does not exist", where=path, do=do) from cause
    except OSError as cause:
        raise error("cannot be read", where=path, found=cause.strerror or cause, do=do) from cause
    except ValueError as cause:
        raise error("is no name of a file", where=path, found=cause) from cause
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise error("is no file", where=path, expected="a file", found=kind, do=do)
    return found.st_size


def read_plain(
    path: Path,
    error: type[UserError],
    *,
    limit: int | None = None,
    do: str | None = None,
    offset: int = 0,
    length: int = -1,
) -> bytes:
    """All bytes of a file behind an offset, or so many; where it has no more than `limit`."""
    size = check_plain(path, error, do=do)
    if limit is not None and size > limit:
        raise error("is too large", where=path, expected=f"at most {limit:,} bytes", found=f"{size:,}", do=do)
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(length)
    except OSError as cause:
        raise error("cannot be read", where=path, found=cause.strerror or cause, do=do) from cause
