"""Reading: records become rows, and the first that cannot is said with its place."""

from collections.abc import Iterable, Iterator
from math import isfinite
from pathlib import Path

from bv_search.errors import DataError
from bv_search.tasks.files import read_records
from bv_search.tasks.layout import ColumnNames
from bv_search.tasks.record import Record
from bv_search.tasks.row import Answer, Row
from bv_search.tasks.target import TargetError, read_answers, read_label, read_value
from bv_search.tasks.task import Kind, Task


def read_file(task: Task, path: Path, *, prefix: str, labels: bool, first: int = 0) -> tuple[Row, ...]:
    """The rows of one file, numbered from `first` on; with `labels`, none may lack its own."""
    records = read_records(path, task.layout)
    columns = find_columns(task, records.columns, path, labels=labels)
    return rows_of(task, columns, records.each, where=path, prefix=prefix, labels=labels, first=first)


def find_columns(task: Task, names: tuple[str, ...], where: object, *, labels: bool) -> ColumnNames:
    columns = task.layout.columns_in(names)
    wanted = task.layout.columns[0]
    if columns is None or (labels and not set(columns.all) <= set(names)):
        missing = ", ".join(repr(name) for name in (columns or wanted).all if name not in names)
        raise DataError(
            "lacks columns of the task",
            where=where,
            expected=f"{missing} for {task.name}",
            found=f"the columns {', '.join(map(repr, names))}"[:160],
        )
    return columns


def rows_of(
    task: Task,
    columns: ColumnNames,
    records: Iterable[Record],
    *,
    where: object,
    prefix: str,
    labels: bool,
    first: int = 0,
) -> tuple[Row, ...]:
    rows = tuple(_rows(task, columns, records, where, prefix, first, labels))
    if not rows:
        raise DataError("holds no rows", where=where)
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise DataError(
                f"the id {row.id!r} stands twice", where=where, expected="an id of its own per row"
            )
        seen.add(row.id)
    return rows


def _rows(
    task: Task,
    columns: ColumnNames,
    records: Iterable[Record],
    where: object,
    prefix: str,
    first: int,
    labels: bool,
) -> Iterator[Row]:
    for number, record in enumerate(records, start=first):
        place = f"{where} {record.place}"
        text_a = _text(record, columns.text_a, place)
        text_b = None if columns.text_b is None else _text(record, columns.text_b, place)
        try:
            label, answers = _target(task, record.values.get(columns.target), text_b or "")
        except TargetError as error:
            raise DataError(error.what, where=place, expected=error.expected, found=error.found) from error
        row = Row(
            id=_name(record, columns.id, place) or f"{prefix}-{number}",
            text_a=text_a,
            text_b=text_b,
            group=_name(record, columns.group, place) or text_a,
            label=label,
            answers=answers,
        )
        if labels and not row.labelled:
            raise DataError(f"the row {row.id!r} has no label", where=place)
        yield row


def _name(record: Record, column: str | None, place: str) -> str | None:
    """An id or a group: a text or a number. An empty cell is none."""
    value = None if column is None else record.values.get(column)
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    if type(value) not in (str, int) and not (type(value) is float and isfinite(value)):
        raise DataError(f"the column {column!r} holds no id", where=place, found=repr(value)[:60])
    name = str(value)
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise DataError(
            f"the column {column!r} holds half a character", where=place, found=ascii(name)
        ) from error
    return name


def _text(record: Record, column: str, place: str) -> str:
    value = record.values.get(column)
    if not isinstance(value, str):
        raise DataError(f"the column {column!r} holds no text", where=place, found=repr(value)[:60])
    try:
        value.encode()
    except UnicodeEncodeError as error:  # JSON can spell one half of a character
        half = ascii(value[error.start])
        raise DataError(f"the column {column!r} holds half a character", where=place, found=half) from error
    return value


def _target(task: Task, value: object, passage: str) -> tuple[float | None, tuple[Answer, ...] | None]:
    """(label, answers), of which a task has one."""
    if task.layout.answers:
        answers = read_answers(value, passage)
        if task.kind is Kind.SPAN:
            return None, answers
        return (None if answers is None else float(bool(answers))), None
    if task.kind is Kind.REGRESSION:
        return read_value(value), None
    return read_label(value, task.labels), None
