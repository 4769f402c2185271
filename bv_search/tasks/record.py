"""Records: one row as its file has it, with the place to point at when it is wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.document import read_plain
from bv_search.errors import DataError


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    place: str
    values: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Records:
    """The names of the columns, known before the first record, and the records."""

    columns: tuple[str, ...]
    each: Iterator[Record]


def read_bytes(path: Path) -> bytes:
    """A whole file that holds something."""
    data = read_plain(path, DataError)
    if not data.strip():
        raise DataError("is empty", where=path)
    return data


def read_text(path: Path) -> str:
    """A whole text file; a byte-order mark is not text."""
    data = read_bytes(path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(
            "is not UTF-8", where=path, found=f"byte {data[error.start]:#04x} at position {error.start}"
        ) from error
