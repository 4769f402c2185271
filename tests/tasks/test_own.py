"""A user's own task, from a YAML file."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bv_search.errors import DataError
from bv_search.tasks import Answer, Kind, Role, find_task, load_dataset, read_rows, task_from_json

REVIEWS = """
name: reviews
kind: classification
labels: [bad, middling, good]
columns: {text: body, label: stars, group: product, id: review}
metric: macro_f1
max_length: 256
"""
FIELDS = "name, kind, labels, columns, metric, max_length, stride, hub"
LABELS = "expected labels: [two, or, more, different]"
LENGTHS = "expected a whole number from 16 to 8192"


def write(folder: Path, text: str, name: str = "own.yaml") -> str:
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


def test_a_classification_of_ones_own(tmp_path: Path, wordpiece: Any) -> None:
    task = find_task(write(tmp_path, REVIEWS))
    assert (task.name, task.kind, task.outputs, task.metric, task.max_length) == (
        "reviews", Kind.CLASSIFICATION, 3, "macro_f1", 256,
    )  # fmt: skip
    lines = [
        {
            "review": f"r{n}",
            "body": f"text {n}",
            "stars": ["bad", "middling", "good"][n % 3],
            "product": n // 6,
        }
        for n in range(60)
    ]
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    data = load_dataset(task, str(tmp_path / "train.jsonl"))
    assert {row.id for role in Role for row in data.rows(role)} == {f"r{n}" for n in range(60)}
    groups = [{row.group for row in split.rows} for split in data.splits]
    assert sum(map(len, groups)) == 10
    rows = data.rows(Role.REPORT)
    index = task.windows(rows, wordpiece)
    logits = [np.eye(3, dtype=np.float32)[int(row.label or 0)] for row in rows]
    assert task.evaluate(index, logits).metrics == {"macro_f1": 1.0, "accuracy": 1.0}
    assert task_from_json(json.loads(json.dumps(task.to_json()))) == task


def test_a_regression_of_ones_own(tmp_path: Path) -> None:
    text = "kind: regression\ncolumns: {text: a, text_pair: b, label: y}\nmetric: pearson\n"
    task = find_task(write(tmp_path, text, "likeness.yaml"))
    assert (task.name, task.metric, task.metrics) == ("likeness", "pearson", ("pearson_spearman", "spearman"))
    (tmp_path / "new.csv").write_text("a,b,y\nx,z,0.5\n", encoding="utf-8")
    row = read_rows(task, tmp_path / "new.csv")[0]
    assert (row.text_a, row.text_b, row.label) == ("x", "z", 0.5)


def test_spans_of_ones_own_in_ones_own_columns_or_squads_form(tmp_path: Path, squad_folder: Path) -> None:
    text = "kind: span\nname: law\ncolumns: {question: q, passage: p, answers: a}\nmax_length: 128\n"
    task = find_task(write(tmp_path, text))
    assert (task.outputs, task.metric, task.max_length, task.stride) == (2, "f1", 128, 42)
    value = {"q": "Who?", "p": "Ada did.", "a": [{"text": "Ada", "answer_start": 0}]}
    (tmp_path / "new.jsonl").write_text(json.dumps(value), encoding="utf-8")
    assert read_rows(task, tmp_path / "new.jsonl")[0].answers == (Answer(text="Ada", start=0),)
    assert len(read_rows(task, squad_folder / "train-v2.0.json")) == 80


def test_yes_and_no_are_words_not_truth_values(tmp_path: Path) -> None:
    text = "kind: classification\nlabels: [false, true]\ncolumns: {text: t, label: l}\n"
    task = find_task(write(tmp_path, text))
    assert task.labels == ("false", "true")
    (tmp_path / "new.jsonl").write_text('{"t": "x", "l": true}', encoding="utf-8")
    assert read_rows(task, tmp_path / "new.jsonl")[0].label == 1.0


def test_labels_may_be_yes_and_no(tmp_path: Path) -> None:
    task = find_task(
        write(tmp_path, "kind: classification\nlabels: [no, yes]\ncolumns: {text: t, label: l}\n")
    )
    (tmp_path / "new.csv").write_text("t,l\nx,yes\ny,no\n", encoding="utf-8")
    assert [row.label for row in read_rows(task, tmp_path / "new.csv")] == [1.0, 0.0]


def test_a_group_that_is_misspelt_is_missed_where_rows_are_learned_from(tmp_path: Path) -> None:
    text = "kind: classification\nlabels: [a, b]\ncolumns: {text: t, label: l, group: autor}\n"
    task = find_task(write(tmp_path, text))
    (tmp_path / "train.csv").write_text("t,l,author\nx,a,Ada\n", encoding="utf-8")
    with pytest.raises(DataError, match="lacks columns of the task; expected 'autor'"):
        load_dataset(task, str(tmp_path / "train.csv"))
    assert len(read_rows(task, tmp_path / "train.csv")) == 1


def test_labels_that_are_numbers_are_names_first(tmp_path: Path) -> None:
    text = "kind: classification\nlabels: [1, 2, 3, 4, 5]\ncolumns: {text: t, label: l}\n"
    task = find_task(write(tmp_path, text))
    (tmp_path / "new.jsonl").write_text('{"t": "x", "l": 1}\n{"t": "y", "l": 5}', encoding="utf-8")
    assert [row.label for row in read_rows(task, tmp_path / "new.jsonl")] == [0.0, 4.0]
    (tmp_path / "bad.jsonl").write_text('{"t": "x", "l": 0}', encoding="utf-8")
    with pytest.raises(DataError, match=r"outside the task; expected one of 1, 2, 3, 4, 5; found 0$"):
        read_rows(task, tmp_path / "bad.jsonl")


def test_without_a_place_for_data_there_is_advice(tmp_path: Path) -> None:
    task = find_task(write(tmp_path, REVIEWS))
    with pytest.raises(DataError, match=r"^the task reviews names no data of its own; .*--data FOLDER"):
        load_dataset(task)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "is empty"),
        ("- a\n", f"defines no task; expected the fields {FIELDS}; found ['a']"),
        ("kind: [", "is not YAML; found did not find expected node content at line 2"),
        ("name: x\n", "lacks its kind; expected kind: one of span, classification, regression"),
        (
            "kind: spam\n",
            "no kind of task named 'spam'; expected one of classification, regression, span; "
            "did you mean 'span'?",
        ),
        (
            "kind: span\nmetrics: f1\n",
            "no field named 'metrics'; expected one of columns, hub, kind, labels, max_length, metric, name, "
            "stride; did you mean 'metric'?",
        ),
        (
            "kind: span\nname: a/b\n",
            "the name cannot stand in file names; "
            "expected lower-case letters, digits, '.', '_' and '-'; found 'a/b'",
        ),
        ("kind: span\nname: rte\n", "the name 'rte' is that of a task of this project; choose another"),
        ("kind: classification\n", f"labels do not name the classes; {LABELS}; found []"),
        (
            "kind: classification\nlabels: [a, a]\n",
            f"labels do not name the classes; {LABELS}; found ['a', 'a']",
        ),
        ("kind: span\nlabels: [a, b]\n", "a span task has no labels; found ['a', 'b']"),
        (
            "kind: regression\ncolumns: {text: a, label: y}\nmetric: f1\n",
            "no metric of a regression task named 'f1'; expected one of pearson, pearson_spearman, spearman",
        ),
        (
            "kind: regression\n",
            "columns do not name the columns of the data; expected columns: {text: COLUMN, …}; found None",
        ),
        (
            "kind: regression\ncolumns: {text: a}\n",
            "columns lack 'label'; expected columns: {label: COLUMN}",
        ),
        (
            "kind: regression\ncolumns: {text: a, lable: b}\n",
            "no column named 'lable'; expected one of group, id, label, text, text_pair; "
            "did you mean 'label'?",
        ),
        (
            "kind: classification\nlabels: [a, b, c]\nmetric: matthews\ncolumns: {text: t, label: l}\n",
            "matthews is of two classes; expected accuracy or macro_f1; found 3",
        ),
        ("kind: span\nmax_length: 4\n", f"max_length is out of range; {LENGTHS}; found 4"),
        ("kind: span\nmax_length: yes\n", f"max_length is out of range; {LENGTHS}; found 'yes'"),
        ("kind: span\nhub: 7\n", "hub is not an id; expected hub: owner/name; found 7"),
    ],
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, expected: str) -> None:
    path = write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        find_task(path)
    assert str(caught.value) == f"{path}: {expected}"


def test_a_file_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"no\.yaml: does not exist$"):
        find_task(str(tmp_path / "no.yaml"))
