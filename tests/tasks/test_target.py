"""What a record says is right is read strictly."""

import json
from pathlib import Path
from typing import Any

import pytest

from bv_search.tasks import TASKS, Answer, read_rows, target
from bv_search.tasks.target import TargetError, read_label
from tests.tasks.data_files import WriteTsv, message, squad, write, write_csv, write_jsonl


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


def test_a_label_outside_the_task(write_tsv: WriteTsv) -> None:
    header = ("index", "sentence1", "sentence2", "label")
    path = write_tsv("train.tsv", header, (0, "a", "b", "entailment"), (1, "a", "b", "perhaps"))
    assert message("rte", path) == (
        "FILE line 3: a label is outside the task; expected one of entailment, not_entailment (or 0 to 1); "
        "found 'perhaps'"
    )
    assert "found '2'" in message("sst2", write_tsv("b.tsv", ("sentence", "label"), ("a", 2)))


def test_a_value_that_is_not_a_number(write_tsv: WriteTsv) -> None:
    for value in ("high", "nan", "inf", "1_000"):
        path = write_tsv("dev.tsv", ("sentence1", "sentence2", "score"), ("a", "b", value))
        assert message("stsb", path) == (
            f"FILE line 2: a value is not a number; expected a finite number; found '{value}'"
        )


def test_answers_stand_as_json_in_a_csv(tmp_path: Path) -> None:
    answers = json.dumps([{"text": "Ada", "answer_start": 0}])
    write_csv(
        tmp_path / "new.csv",
        {"id": ["1", "2"], "context": ["Ada did."] * 2, "question": ["Who?"] * 2, "answers": [answers, ""]},
    )
    rows = read_rows(TASKS["squad2-span"], tmp_path / "new.csv")
    assert [row.answers for row in rows] == [(Answer(text="Ada", start=0),), None]


def test_hidden_labels_are_no_labels(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "test.jsonl", {"sentence": ["a", "b", "c"], "label": [-1, None, 1]})
    rows = read_rows(TASKS["sst2"], tmp_path / "test.jsonl")
    assert [row.label for row in rows] == [None, None, 1.0]


def test_labels_may_be_given_by_name_or_number(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", {"sentence": list("abcd"), "label": ["negative", "positive", "1", 0.0]})
    assert [row.label for row in read_rows(TASKS["sst2"], tmp_path / "a.jsonl")] == [0.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize("start", [5, 6, 7, 8, 9])
def test_an_answer_a_character_or_two_off_its_place_is_put_right(tmp_path: Path, start: int) -> None:
    answers = [{"text": "Ada", "answer_start": start}]
    value = {"question": "Who?", "context": "It was Ada.", "answers": answers}
    (tmp_path / "a.jsonl").write_text(json.dumps(value), encoding="utf-8")
    assert read_rows(TASKS["squad2-span"], tmp_path / "a.jsonl")[0].answers == (Answer(text="Ada", start=7),)


@pytest.mark.parametrize(
    ("labels", "value", "expected"),
    [
        (("0.5", "1.0", "1.5", "2.0"), 2.0, 3),
        (("0.5", "1.0", "1.5", "2.0"), "2", 3),
        (("-1.0", "0.0", "1.0"), -1.0, 0),
        (("2", "4"), "4", 1),
        (("False", "True"), True, 1),
        (("false", "true"), "True", 1),
        (("bad", "good"), "1", 1),
        (("bad", "good"), "1.0", 1),
        (("bad", "good"), "-1.0", None),
        (("1.0", "2.0"), "2.0", 1),
        (("bad", "good"), "-1", None),
        (("bad", "good"), None, None),
    ],
)
def test_a_label_is_found_however_its_number_or_truth_is_written(
    labels: tuple[str, ...], value: object, expected: int | None
) -> None:
    assert read_label(value, labels) == expected


def test_of_labels_that_mean_the_same_the_first_is_meant() -> None:
    assert [read_label(value, ("1", "1.0", "true", "TRUE", "2")) for value in ("1.0", True, 2)] == [0, 2, 4]


def test_a_label_takes_no_longer_to_read_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = tuple(f"class {number}" for number in range(1000))
    assert read_label("class 999", labels) == 999
    looked: list[str] = []

    def watched(text: str) -> bool:
        looked.append(text)
        return False

    monkeypatch.setattr(target, "_is_number", watched)
    assert [read_label(f"class {number}", labels) for number in range(5)] == [0, 1, 2, 3, 4]
    assert len(looked) == 5


@pytest.mark.parametrize("value", [3, "1", "3.0"])
def test_a_number_that_is_no_name_of_a_class_is_no_number_of_one(value: object) -> None:
    with pytest.raises(TargetError, match="a label is outside the task"):
        read_label(value, ("0.5", "2.0", "2.5", "4"))
