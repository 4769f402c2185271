"""Answers as a file: SQuAD's official predictions, JSON lines, or a table."""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bv_search.errors import OutputError
from bv_search.files import check_makeable, real_path, write_text

AnswerRows = Sequence[Mapping[str, Any]]


def as_json(rows: AnswerRows) -> str:
    """{id: answer}: what SQuAD's official script evaluates."""
    return json.dumps({row["id"]: row["prediction"] for row in rows}, ensure_ascii=False, indent=1) + "\n"


def as_jsonl(rows: AnswerRows) -> str:
    return "".join(json.dumps(row, ensure_ascii=False, allow_nan=False) + "\n" for row in rows)


def as_tsv(rows: AnswerRows) -> str:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_MINIMAL)
    writer.writerow(["index", "prediction"])
    writer.writerows([row["id"], row["prediction"]] for row in rows)
    return text.getvalue()


FORMATS: dict[str, Callable[[AnswerRows], str]] = {".json": as_json, ".jsonl": as_jsonl, ".tsv": as_tsv}


def check_output(path: Path, *, overwrite: bool) -> None:
    """Refuse before any work."""
    if path.suffix not in FORMATS:
        raise OutputError(
            "has an unknown ending",
            where=path,
            expected=f"one of {', '.join(FORMATS)}",
            found=path.suffix or "none",
        )
    if real_path(path).exists() and not path.is_file():
        raise OutputError("is no file that could be replaced", where=path, do="choose another --out")
    if path.exists() and not overwrite:
        raise OutputError("already exists", where=path, do="choose another --out, or say --overwrite")
    check_makeable(path.parent)


def write_answers(path: Path, rows: AnswerRows) -> None:
    write_text(path, FORMATS[path.suffix](rows))
