"""Files of a data set, each read by its ending."""

from collections.abc import Callable
from pathlib import Path

from bv_search.errors import DataError
from bv_search.tasks.layout import Layout
from bv_search.tasks.record import Records
from bv_search.tasks.squad_file import read_json
from bv_search.tasks.table_file import read_csv, read_jsonl, read_parquet, read_tsv

READERS: dict[str, Callable[[Path, Layout], Records]] = {
    ".json": read_json,
    ".tsv": read_tsv,
    ".csv": read_csv,
    ".jsonl": read_jsonl,
    ".parquet": read_parquet,
}


def read_records(path: Path, layout: Layout) -> Records:
    """The records of one file; what is wrong with the file as a whole is said here."""
    if path.is_dir():
        raise DataError("is a folder", where=path, expected="a file")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise DataError(
            "is in no format that is known",
            where=path,
            expected=" ".join(READERS),
            found=path.suffix or "none",
        )
    return reader(path, layout)
