"""Data that cannot be used: one line that says what, where, expected and found, before any work."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bv_search.errors import DataError
from bv_search.tasks import TASKS, load_dataset, read_rows

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


@pytest.mark.parametrize("ending", ["json", "tsv", "csv", "jsonl", "parquet"])
def test_a_file_that_is_missing(tmp_path: Path, ending: str) -> None:
    assert message("squad2-span", tmp_path / f"no.{ending}") == "FILE: does not exist"


@pytest.mark.parametrize("ending", ["json", "tsv", "csv", "jsonl"])
@pytest.mark.parametrize("content", [b"", b" \n"])
def test_a_file_that_is_empty(tmp_path: Path, ending: str, content: bytes) -> None:
    assert message("sst2", write(tmp_path / f"a.{ending}", content)) == "FILE: is empty"


def test_a_parquet_file_that_is_empty_or_damaged(tmp_path: Path) -> None:
    assert message("sst2", write(tmp_path / "a.parquet", b"")).startswith(
        "FILE: is empty; expected a Parquet"
    )
    assert message("sst2", write(tmp_path / "b.parquet", b"PAR1 no")).startswith("FILE: is damaged; expected")


@pytest.mark.parametrize("ending", ["json", "tsv", "csv", "jsonl"])
def test_a_file_that_is_not_utf8(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"a.{ending}", "sentence\tlabel\ncafé\t1\n".encode("latin-1"))
    assert message("sst2", path) == "FILE: is not UTF-8; found byte 0xe9 at position 18"


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


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        (
            [{"text": "Bob", "answer_start": 0}],
            "an answer does not stand in its passage; expected 'Bob' at 0; found 'Ada'",
        ),
        (
            [{"text": "did", "answer_start": 400}],
            "an answer does not stand in its passage; expected 'did' at 400; found ''",
        ),
        ([{"text": " ", "answer_start": 3}], "an answer is empty; expected a text of the passage; found ' '"),
        (
            [{"text": "Ada"}],
            'answers are not in SQuAD\'s form; expected [{"text": …, "answer_start": …}] or '
            "{\"text\": […], \"answer_start\": […]}; found [{'text': 'Ada'}]",
        ),
    ],
)
def test_answers_that_cannot_be(tmp_path: Path, answers: Any, expected: str) -> None:
    path = write(tmp_path / "a.json", squad(answers=answers, is_impossible=False))
    assert message("squad2-span", path) == f"FILE data[0].paragraphs[0].qas[0]: {expected}"


def test_a_row_of_a_tsv_that_lacks_columns(write_tsv: WriteTsv) -> None:
    header = ("index", "sentence1", "sentence2", "label")
    path = write_tsv("train.tsv", header, (0, "a", "b", "entailment"), (1, "c", "entailment"))
    assert message("rte", path) == "FILE line 3: a row lacks columns; expected 4 columns; found 3"


def test_a_row_of_cola_that_lacks_columns(write_tsv: WriteTsv) -> None:
    path = write_tsv("train.tsv", ("gj04", 1, "", "Fine."), ("gj04", 1, ""))
    assert message("cola", path) == "FILE line 2: a row lacks columns; expected 4 columns; found 3"


def test_a_row_of_a_csv_with_other_columns(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "sentence,label\na,1\nb,c,1\n")
    assert message("sst2", path) == (
        "FILE line 3: a row has other columns than the header; expected 2 columns; found 3"
    )


def test_a_line_that_is_not_json(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"sentence": "a", "label": 1}\n{"sentence": \n')
    assert message("sst2", path).startswith("FILE line 2: is not JSON; found Expecting value at column")
    assert message("sst2", write(tmp_path / "b.jsonl", "[]\n")) == (
        "FILE line 1: is not a row; expected a JSON object; found list"
    )


def test_a_label_outside_the_task(write_tsv: WriteTsv) -> None:
    header = ("index", "sentence1", "sentence2", "label")
    path = write_tsv("train.tsv", header, (0, "a", "b", "entailment"), (1, "a", "b", "perhaps"))
    assert message("rte", path) == (
        "FILE line 3: a label is outside the task; expected one of entailment, not_entailment (or 0 to 1); "
        "found 'perhaps'"
    )
    assert "found '2'" in message("sst2", write_tsv("b.tsv", ("sentence", "label"), ("a", 2)))


def test_a_value_that_is_not_a_number(write_tsv: WriteTsv) -> None:
    for value in ("high", "nan", "inf"):
        path = write_tsv("dev.tsv", ("sentence1", "sentence2", "score"), ("a", "b", value))
        assert message("stsb", path) == (
            f"FILE line 2: a value is not a number; expected a finite number; found '{value}'"
        )


def test_a_row_without_a_label_cannot_be_trained_on(tmp_path: Path) -> None:
    path = write(tmp_path / "train.jsonl", '{"sentence": "a", "label": 1}\n{"sentence": "b"}\n')
    assert message("sst2", path, read=load_dataset) == "FILE: the row 'train-1' has no label"


def test_a_table_of_another_task(write_tsv: WriteTsv) -> None:
    path = write_tsv("train.tsv", ("sentence", "label"), ("a", 1))
    assert message("rte", path) == (
        "FILE: lacks columns of the task; expected 'sentence1', 'sentence2' for rte; "
        "found the columns 'sentence', 'label'"
    )
    path = write_tsv("train.tsv", ("index", "sentence1", "sentence2"), (0, "a", "b"))
    assert message("rte", path, read=load_dataset) == (
        "FILE: lacks columns of the task; expected 'label' for rte; "
        "found the columns 'index', 'sentence1', 'sentence2'"
    )


def test_a_table_without_rows(write_tsv: WriteTsv) -> None:
    assert message("sst2", write_tsv("dev.tsv", ("sentence", "label"))) == "FILE: holds no rows"


def test_text_that_is_no_text(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", '{"sentence": 7, "label": 1}\n')
    assert message("sst2", path) == "FILE line 1: the column 'sentence' holds no text; found 7"
    path = write(tmp_path / "b.jsonl", '{"sentence": "\\ud83d", "label": 1}\n')
    assert message("sst2", path) == "FILE line 1: is not JSON; found half a character, '\\ud83d'"


def test_an_id_that_stands_twice(tmp_path: Path) -> None:
    paragraph = {"context": "x", "qas": [{"id": "1", "question": "?", "is_impossible": True}] * 2}
    path = write(tmp_path / "a.json", json.dumps({"data": [{"paragraphs": [paragraph]}]}))
    assert message("squad2-span", path) == (
        "FILE: the id '1' stands twice; expected an id of its own per row"
    )


def test_a_format_that_is_not_known(tmp_path: Path) -> None:
    assert message("sst2", write(tmp_path / "a.xlsx", b"x")) == (
        "FILE: is in no format that is known; expected .json .tsv .csv .jsonl .parquet; found .xlsx"
    )


def test_a_folder_where_a_file_is_meant(tmp_path: Path) -> None:
    assert message("sst2", tmp_path) == "FILE: is a folder; expected a file"


def test_a_place_without_data(tmp_path: Path) -> None:
    assert message("sst2", tmp_path / "no", read=load_dataset) == (
        "FILE: does not exist; expected a folder or file with the task's data"
    )
    write(tmp_path / "notes.txt", "x")
    assert message("sst2", tmp_path, read=load_dataset) == (
        "FILE: holds no training rows; expected a file train* with one of the endings "
        ".json .tsv .csv .jsonl .parquet; found notes.txt"
    )


def test_two_files_for_one_split(tmp_path: Path) -> None:
    for name in ("train.json", "train-v2.0.json"):
        write(tmp_path / name, squad())
    assert message("squad2-span", tmp_path, read=load_dataset) == (
        "FILE: holds more than one file for 'train'; found train-v2.0.json, train.json; "
        "keep one of them, or give a folder with one"
    )


def test_too_few_passages_to_withhold_any(tmp_path: Path) -> None:
    path = write(tmp_path / "train.json", squad())
    assert message("squad2-span", path, read=load_dataset) == (
        "FILE: is too small to withhold rows for selection; "
        "expected at least 3 different passages or texts for training; found 1"
    )


def test_a_torn_table_is_found_wherever_it_is_cut(write_tsv: WriteTsv) -> None:
    """Whatever the cut, there is either one clear error or nothing but whole rows."""
    header = ("index", "sentence1", "sentence2", "label")
    rows = [(n, "one", "two", "entailment") for n in range(3)]
    whole = write_tsv("whole.tsv", header, *rows)
    good = read_rows(TASKS["rte"], whole)
    for length in range(whole.stat().st_size):
        path = write(whole.with_name("whole.tsv.part.tsv"), whole.read_bytes()[:length])
        try:
            left = read_rows(TASKS["rte"], path)
        except DataError:
            continue
        labelled = [row.key for row in left if row.labelled]
        assert labelled == [row.key for row in good[: len(labelled)]]
        assert len(labelled) >= len(left) - 1  # cut right before its label, a row has none
