"""Records become rows, and the first that cannot is said with its place."""

import json
from pathlib import Path

from bv_search.tasks import find_task, load_dataset, read_rows
from tests.tasks.data_files import WriteTsv, message, write


def test_a_row_without_a_label_cannot_be_trained_on(tmp_path: Path) -> None:
    path = write(tmp_path / "train.jsonl", '{"sentence": "a", "label": 1}\n{"sentence": "b"}\n')
    assert message("sst2", path, read=load_dataset) == "FILE line 2: the row 'train-1' has no label"


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


def test_an_empty_id_or_group_is_none(tmp_path: Path) -> None:
    task = write(
        tmp_path / "own.yaml",
        "{kind: classification, labels: [bad, good], columns: {text: t, label: l, id: i, group: g}}",
    )
    path = write(tmp_path / "train.csv", "t,l,i,g\none,bad,,\ntwo,good, , \nthree,bad,x,y\n")
    rows = read_rows(find_task(str(task)), path)
    assert [(row.id, row.group) for row in rows] == [("train-0", "one"), ("train-1", "two"), ("x", "y")]
