"""Data files of a few rows, and what is said of those that cannot be used."""

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bv_search.errors import DataError
from bv_search.tasks import TASKS, read_rows

WriteTsv = Callable[..., Path]


def message(task: str, path: Path, *, read: Callable[..., object] = read_rows) -> str:
    with pytest.raises(DataError) as caught:
        read(TASKS[task], str(path))
    line = str(caught.value)
    assert "\n" not in line
    assert caught.value.exit_status == 2
    return line.replace(str(path), "FILE").replace(str(path.parent), "FOLDER")


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def squad(**question: Any) -> str:
    item = {"id": "1", "question": "Who?", "answers": [], "is_impossible": True, **question}
    return json.dumps({"data": [{"paragraphs": [{"context": "Ada did.", "qas": [item]}]}]})


SENTENCES = [(f"sentence {number}", number % 2) for number in range(40)]


def columns() -> dict[str, list[object]]:
    return {
        "sentence": [text for text, _ in SENTENCES],
        "label": [label for _, label in SENTENCES],
        "idx": list(range(40)),
    }


def write_parquet(path: Path, values: dict[str, list[object]]) -> None:
    pq.write_table(pa.table(values), path)


def write_csv(path: Path, values: dict[str, list[object]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(values)
        writer.writerows(zip(*values.values(), strict=True))


def write_jsonl(path: Path, values: dict[str, list[object]]) -> None:
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_json(path: Path, values: dict[str, list[object]]) -> None:
    rows = [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    path.write_text(json.dumps(rows), encoding="utf-8")


WRITERS = {"parquet": write_parquet, "csv": write_csv, "jsonl": write_jsonl, "json": write_json}
