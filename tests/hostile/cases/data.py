"""Rows: SQuAD's JSON, JSON lines, TSV, CSV, Parquet."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.hostile.room import Case, Room, given

ROW = '{"id": "1", "question": "q", "context": "c", "answers": []}'


def _squad(question: str = '"id": "1", "question": "q", "answers": []', context: str = '"c"') -> str:
    return f'{{"data": [{{"paragraphs": [{{"context": {context}, "qas": [{{{question}}}]}}]}}]}}'


FILES: dict[str, tuple[str, str | bytes]] = {
    "nested lists": ("a.json", "[" * 100_000 + "]" * 100_000),
    "nested objects": ("a.json", '{"a":' * 100_000 + "1" + "}" * 100_000),
    "nested by 900": ("a.json", "[" * 900 + "]" * 900),
    "nested in a field": ("a.json", _squad('"id": "1", "question": ' + "[" * 900 + "]" * 900)),
    "nested in a field a little": ("a.json", _squad('"id": "1", "question": ' + "[" * 200 + "]" * 200)),
    "an id of 5,000 digits": ("a.json", _squad(f'"id": {"9" * 5000}, "question": "q"')),
    "a key twice": ("a.json", _squad('"id": "1", "question": "q", "question": "r"')),
    "data twice": ("a.json", '{"data": [], "data": []}'),
    "half a character in a text": ("a.json", _squad(context='"\\ud800"')),
    "half a character in an id": ("a.json", _squad('"id": "\\udc00", "question": "q"')),
    "half a character in a key": ("a.json", _squad('"id": "1", "question": "q", "\\ud800": 1')),
    "a number that is none": ("a.json", _squad('"id": NaN, "question": "q"')),
    "a number without end": ("a.json", _squad('"id": "1", "question": "q", "x": 1e400')),
    "an infinity": ("a.json", _squad('"id": "1", "question": "q", "x": -Infinity')),
    "an id that is null": ("a.json", _squad('"id": null, "question": "q"')),
    "an id that is true": ("a.json", _squad('"id": true, "question": "q"')),
    "answers that are a number": ("a.json", _squad('"id": "1", "question": "q", "answers": 5')),
    "an answer at a fraction": (
        "a.json",
        _squad('"id": "1", "question": "q", "answers": [{"text": "c", "answer_start": 0.5}]'),
    ),
    "an answer far away": (
        "a.json",
        _squad(
            '"id": "1", "question": "q", "answers": [{"text": "c", "answer_start": 99999999999999999999}]'
        ),
    ),
    "a question that is a list": ("a.json", _squad('"id": "1", "question": []')),
    "two rows of one id": ("a.json", f"[{ROW}, {ROW}]"),
    "paragraphs that are a mapping": ("a.json", '{"data": [{"paragraphs": {}}]}'),
    "no rows": ("a.json", '{"data": []}'),
    "a word": ("a.json", '"data"'),
    "a number": ("a.json", "5"),
    "null": ("a.json", "null"),
    "a list of numbers": ("a.json", "[1, 2]"),
    "cut off": ("a.json", _squad()[:40]),
    "empty": ("a.json", ""),
    "blanks": ("a.json", "   \n"),
    "a zero byte": ("a.json", "\0"),
    "no text": ("a.json", b"\xff\xfe\x00"),
    "a surrogate's bytes": ("a.json", b'{"data": "\xed\xa0\x80"}'),
    "lines: a key twice": ("a.jsonl", ROW[:-1] + ', "question": "r"}'),
    "lines: nested": ("a.jsonl", '{"question": ' + "[" * 100_000),
    "lines: nested a little": ("a.jsonl", '{"question": ' + "[" * 300 + "]" * 300 + "}"),
    "lines: 5,000 digits": ("a.jsonl", ROW.replace('"1"', "9" * 5000)),
    "lines: half a character": ("a.jsonl", ROW.replace('"q"', '"\\ud83d"')),
    "lines: half a character in an id": ("a.jsonl", ROW.replace('"1"', '"\\ud83d"')),
    "lines: a number that is none": ("a.jsonl", ROW.replace('"1"', "NaN")),
    "lines: an id that is a list": ("a.jsonl", ROW.replace('"1"', "[1]")),
    "lines: an id that is a mapping": ("a.jsonl", ROW.replace('"1"', '{"a": 1}')),
    "lines: a list": ("a.jsonl", "[]"),
    "lines: cut off": ("a.jsonl", ROW[:-5]),
    "lines: other columns": ("a.jsonl", '{"text": "a"}'),
    "table: a column twice": ("a.tsv", "id\tquestion\tcontext\tquestion\n1\tq\tc\tr\n"),
    "table: a short row": ("a.tsv", "id\tquestion\tcontext\n1\tq\n"),
    "table: only a header": ("a.tsv", "id\tquestion\tcontext\n"),
    "table: an id twice": ("a.tsv", "id\tquestion\tcontext\n1\tq\tc\n1\tr\tc\n"),
    "table: a million columns": ("a.tsv", "\t".join(f"c{n}" for n in range(1_000_000)) + "\n"),
    "commas: a column twice": ("a.csv", "id,question,context,context\n1,q,c,d\n"),
    "commas: a field without end": ("a.csv", 'id,question,context\n1,"q'),
    "commas: a field of 200,000 letters": ("a.csv", f"id,question,context\n1,{'q' * 200_000},c\n"),
    "commas: a long row": ("a.csv", "id,question,context\n1,q,c,d\n"),
    "commas: no text": ("a.csv", b"id,question,context\n1,\xff,c\n"),
    "parquet: a word": ("a.parquet", "PAR1"),
    "parquet: empty": ("a.parquet", ""),
    "parquet: a forged end": ("a.parquet", b"PAR1" + b"\xff" * 64 + b"\xff\xff\xff\x7fPAR1"),
    "an ending that is none": ("a.txt", "q"),
    "no ending": ("a", "q"),
}


def _table(*columns: tuple[str, pa.Array]) -> Callable[[Path], None]:
    def write(path: Path) -> None:
        names, arrays = [name for name, _ in columns], [array for _, array in columns]
        pq.write_table(pa.Table.from_arrays(arrays, names=names), path)

    return write


_GOOD = (("id", pa.array(["1"])), ("question", pa.array(["q"])), ("context", pa.array(["c"])))
TABLES: dict[str, Callable[[Path], None]] = {
    "parquet: a column twice": _table(*_GOOD, ("question", pa.array(["r"]))),
    "parquet: a text that is a number": _table(_GOOD[0], ("question", pa.array([1])), _GOOD[2]),
    "parquet: a text that is null": _table(_GOOD[0], ("question", pa.array([None], pa.string())), _GOOD[2]),
    "parquet: an id that is a list": _table(("id", pa.array([["1"]])), *_GOOD[1:]),
    "parquet: no rows": _table(*((name, array.slice(0, 0)) for name, array in _GOOD)),
    "parquet: bytes that are no text": _table(
        _GOOD[0], ("question", pa.array([b"\xff\xfe"], pa.binary()).view(pa.string())), _GOOD[2]
    ),
}


def _predict(room: Room, data: str) -> list[str]:
    return ["predict", str(room.small.run.path), "--data", data, "--out", "out.json"]


def _written(room: Room, file: str, text: str | bytes) -> list[str]:
    return _predict(room, room.write(file, text))


def _pipe(room: Room, file: str) -> list[str]:
    return _predict(room, room.pipe(file))


def _parquet(room: Room, write: Callable[[Path], None]) -> list[str]:
    write(room.place / "a.parquet")
    return _predict(room, "a.parquet")


def _cases() -> Iterator[Case]:
    for name, (file, text) in FILES.items():
        yield Case(name=name, make=given(_written, file, text))
    for name, write in TABLES.items():
        yield Case(name=name, make=given(_parquet, write))
    for ending in ("json", "jsonl", "tsv", "csv", "parquet"):
        yield Case(name=f"a pipe that ends in .{ending}", make=given(_pipe, f"a.{ending}"))
    yield Case(name="a folder without rows", make=lambda room: _predict(room, str(room.place)))
    yield Case(name="a pipe among the data", make=_pipe_in_folder)
    yield Case(name="a device", make=lambda room: _predict(room, "/dev/zero"))


def _pipe_in_folder(room: Room) -> list[str]:
    room.write("rows/train.json", json.dumps(json.loads(_squad())))
    room.pipe("rows/dev.json")
    return _predict(room, str(room.place / "rows"))


DATA = tuple(_cases())
