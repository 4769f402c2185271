"""Tables: TSV as GLUE publishes it, CSV, JSON lines, Parquet."""

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from bv_search.document import Unreadable, check_plain, load_json
from bv_search.errors import DataError
from bv_search.tasks.layout import Layout
from bv_search.tasks.record import Record, Records, read_text


def read_tsv(path: Path, layout: Layout) -> Records:
    """GLUE's form: tabs divide, quotes are plain characters, and only a line feed ends a line."""
    lines = read_text(path).replace("\r\n", "\n").rstrip("\n").split("\n")
    first = tuple(lines[0].split("\t"))
    headed = not layout.header or layout.columns_in(first) is not None
    if headed:
        refuse_twice(path, first)
    return Records(columns=first if headed else layout.header, each=_tsv_records(path, lines, layout, headed))


def _tsv_records(path: Path, lines: list[str], layout: Layout, headed: bool) -> Iterator[Record]:
    columns = lines[0].split("\t") if headed else list(layout.header)
    for number, line in enumerate(lines[headed:], start=1 + headed):
        fields = line.split("\t")
        if not layout.is_glue and _is_blank(fields, columns):
            continue
        if len(fields) == len(columns) or (layout.is_glue and len(fields) > len(columns)):
            yield Record(place=f"line {number}", values=dict(zip(columns, fields, strict=False)))
        elif not layout.torn_rows:
            more = len(fields) > len(columns)
            raise DataError(
                "a row has more columns than the header" if more else "a row lacks columns",
                where=f"{path} line {number}",
                expected=f"{len(columns)} columns",
                found=f"{len(fields)}",
                do="take the tabs out of its texts, which quotes do not keep, or give CSV" if more else None,
            )


def read_csv(path: Path, layout: Layout) -> Records:
    csv.field_size_limit(sys.maxsize)
    reader = csv.reader(io.StringIO(read_text(path), newline=""), strict=True)
    columns = tuple(_next_line(path, reader) or ())
    refuse_twice(path, columns)
    return Records(columns=columns, each=_csv_records(path, reader, columns))


def _next_line(path: Path, reader: Any) -> list[str] | None:
    """The fields of the next line, or None after the last."""
    try:
        return next(reader, None)
    except csv.Error as error:
        raise DataError("is not CSV", where=f"{path} line {reader.line_num}", found=error) from error


def _csv_records(path: Path, reader: Any, columns: tuple[str, ...]) -> Iterator[Record]:
    while (fields := _next_line(path, reader)) is not None:
        place = f"line {reader.line_num}"
        if _is_blank(fields, columns):
            continue
        if len(fields) != len(columns):
            raise DataError(
                "a row has other columns than the header",
                where=f"{path} {place}",
                expected=f"{len(columns)} columns",
                found=f"{len(fields)}",
            )
        yield Record(place=place, values=dict(zip(columns, fields, strict=True)))


def _is_blank(fields: Sequence[str], columns: Sequence[str]) -> bool:
    """Spreadsheets end in lines of nothing but commas. A column alone may hold an empty text."""
    return not fields or (len(columns) > 1 and not any(field.strip() for field in fields))


def read_jsonl(path: Path, layout: Layout) -> Records:
    lines = [(n, line) for n, line in enumerate(read_text(path).split("\n"), start=1) if line.strip()]
    records = [Record(place=f"line {number}", values=_object(path, number, line)) for number, line in lines]
    return Records(columns=shared_columns(records), each=iter(records))


def _object(path: Path, number: int, line: str) -> dict[str, Any]:
    try:
        value = load_json(line)
    except Unreadable as error:
        found = error.what if error.line is None else f"{error.what} at column {error.column}"
        raise DataError("is not JSON", where=f"{path} line {number}", found=found) from error
    if not isinstance(value, dict):
        raise DataError(
            "is not a row",
            where=f"{path} line {number}",
            expected="a JSON object",
            found=type(value).__name__,
        )
    return value


def shared_columns(records: list[Record]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for record in records for name in record.values))


def refuse_twice(path: Path, columns: Sequence[str]) -> None:
    """Of two columns of one name nobody knows which is meant."""
    if len(set(columns)) < len(columns):
        twice = next(name for name, count in Counter(columns).items() if count > 1)
        raise DataError(f"the column {twice!r} stands twice", where=path, expected="a name for each column")


def read_parquet(path: Path, layout: Layout) -> Records:
    check_plain(path, DataError)
    try:
        with pq.ParquetFile(path) as file:
            refuse_twice(path, file.schema_arrow.names)
            table = file.read()
        table.validate(full=True)  # text that is not UTF-8 is said here, not in the middle of the rows
    except (OSError, pa.ArrowException) as error:
        what = "is empty" if path.stat().st_size == 0 else "is damaged"
        raise DataError(what, where=path, expected="a Parquet file", found=str(error)[:80]) from error
    return Records(columns=tuple(table.column_names), each=_table_records(table))


def _table_records(table: pa.Table) -> Iterator[Record]:
    number = 0
    for batch in table.to_batches():
        for values in batch.to_pylist():
            number += 1
            yield Record(place=f"row {number}", values=values)
