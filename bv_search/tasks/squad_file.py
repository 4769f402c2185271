"""SQuAD's files: articles of paragraphs of questions, in JSON."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from bv_search.document import Unreadable, load_json
from bv_search.errors import DataError
from bv_search.tasks.layout import SQUAD_COLUMNS, Layout
from bv_search.tasks.record import Record, Records, read_text
from bv_search.tasks.table_file import shared_columns

MORE = "Extra data"  # how JSON puts a second value behind the first


def read_json(path: Path, layout: Layout) -> Records:
    """SQuAD's form, or a plain list of objects."""
    value = _parse(path)
    if isinstance(value, list):
        records = list(_listed_records(path, value))
        return Records(columns=shared_columns(records), each=iter(records))
    columns = tuple(str(name) for name in SQUAD_COLUMNS.__dict__.values())
    return Records(columns=columns, each=_squad_records(path, value))


def _parse(path: Path) -> Any:
    text = read_text(path)
    try:
        return load_json(text)
    except Unreadable as error:
        known = error.line is not None
        place = f" at character {error.position} of {len(text)}" if known else ""
        raise DataError(
            "is truncated" if known and _is_torn(text, error) else "is not JSON",
            where=path,
            expected="JSON",
            found=f"{error.what}{place}",
            do="name it .jsonl if each line is a row" if error.what == MORE else None,
        ) from error


def _is_torn(text: str, error: Unreadable) -> bool:
    return error.position >= len(text.rstrip()) - 1 or error.what.startswith("Unterminated")


def _listed_records(path: Path, items: list[Any]) -> Iterator[Record]:
    for number, item in enumerate(items):
        if not isinstance(item, dict):
            raise DataError(
                "is not a row",
                where=f"{path} [{number}]",
                expected="a JSON object",
                found=type(item).__name__,
            )
        yield Record(place=f"[{number}]", values=item)


def _squad_records(path: Path, value: Any) -> Iterator[Record]:
    """A question each, as the Hub's form of SQuAD has it; answers None where nobody gave any."""
    for a, article in enumerate(_items(path, "", value, "data")):
        for p, paragraph in enumerate(_items(path, f"data[{a}]", article, "paragraphs")):
            place = f"data[{a}].paragraphs[{p}]"
            context = _item(path, place, paragraph, "context", str)
            for q, question in enumerate(_items(path, place, paragraph, "qas")):
                where = f"{place}.qas[{q}]"
                values = {
                    "id": str(_item(path, where, question, "id", (str, int))),
                    "context": context,
                    "question": _item(path, where, question, "question", str),
                    "answers": [] if question.get("is_impossible") is True else question.get("answers"),
                }
                yield Record(place=where, values=values)


def _items(path: Path, place: str, value: Any, name: str) -> list[Any]:
    items: list[Any] = _item(path, place, value, name, list)
    return items


def _item(path: Path, place: str, value: Any, name: str, kind: type | tuple[type, ...]) -> Any:
    item = value.get(name) if isinstance(value, dict) else None
    if not isinstance(item, kind) or isinstance(item, bool):
        if not isinstance(value, dict):
            found = type(value).__name__
        elif name in value:
            found = f"{name} = {str(item)[:40]!r}"
        else:
            found = f"the keys {', '.join(map(str, value))}"[:80] if value else "no keys"
        raise DataError(
            "is not in SQuAD's format",
            where=f"{path} {place}".rstrip(),
            expected=f"an object with {name!r}",
            found=found,
        )
    return item
