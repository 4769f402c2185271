"""SQuAD's files, and what is said of JSON that is none."""

import json
from pathlib import Path

import pytest

from bv_search.tasks import TASKS, read_rows
from tests.tasks.data_files import message, squad, write


def test_json_that_is_truncated(tmp_path: Path) -> None:
    whole = squad()
    for length in (len(whole) - 1, len(whole) // 2, 12):
        line = message("squad2-span", write(tmp_path / "train.json", whole[:length]))
        assert line.startswith("FILE: is truncated; expected JSON; found ")
        assert line.endswith(f"of {length}")


def test_json_that_is_none(tmp_path: Path) -> None:
    assert message("squad2-span", write(tmp_path / "train.json", '{"data": [nonsense], "more": 1}')) == (
        "FILE: is not JSON; expected JSON; found Expecting value at character 10 of 31"
    )
    path = write(tmp_path / "lines.json", '{"question": "a"}\n{"question": "b"}\n')
    assert message("squad2-span", path) == (
        "FILE: is not JSON; expected JSON; found Extra data at character 18 of 36; "
        "name it .jsonl if each line is a row"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("{}", "FILE: is not in SQuAD's format; expected an object with 'data'; found no keys"),
        ("3", "FILE: is not in SQuAD's format; expected an object with 'data'; found int"),
        (
            '{"data": [{"title": "x"}]}',
            "FILE data[0]: is not in SQuAD's format; expected an object with 'paragraphs'; "
            "found the keys title",
        ),
        (
            '{"data": [{"paragraphs": [{"context": null, "qas": []}]}]}',
            "FILE data[0].paragraphs[0]: is not in SQuAD's format; expected an object with 'context'; "
            "found context = 'None'",
        ),
        (
            '{"data": [{"paragraphs": [{"context": "x", "qas": [{"id": 1}]}]}]}',
            "FILE data[0].paragraphs[0].qas[0]: is not in SQuAD's format; "
            "expected an object with 'question'; found the keys id",
        ),
        ('{"data": []}', "FILE: holds no rows"),
        ("[1]", "FILE [0]: is not a row; expected a JSON object; found int"),
    ],
)
def test_json_of_another_form(tmp_path: Path, content: str, expected: str) -> None:
    assert message("squad2-span", write(tmp_path / "a.json", content)) == expected


def test_questions_without_answers_can_be_read_for_predicting(tmp_path: Path) -> None:
    paragraph = {"context": "Ada did.", "qas": [{"id": 7, "question": "Who?"}]}
    path = tmp_path / "new.json"
    path.write_text(json.dumps({"data": [{"paragraphs": [paragraph]}]}), encoding="utf-8")
    row = read_rows(TASKS["squad2-span"], path)[0]
    assert (row.id, row.answers) == ("7", None)
    assert read_rows(TASKS["squad2-answerable"], path)[0].label is None
