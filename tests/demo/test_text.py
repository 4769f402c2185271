import json
from pathlib import Path
from typing import Any

import pytest

from bv_search.demo.text import TextSettings, tell, write_text
from bv_search.demo.world import KINDS
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task

SMALL = TextSettings(train_passages=30, dev_passages=12, seed=3)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_text(tmp_path_factory.mktemp("text") / "data", SMALL)


def read(folder: Path, name: str) -> list[dict[str, Any]]:
    articles = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))["data"]
    return [paragraph for article in articles for paragraph in article["paragraphs"]]


def questions(folder: Path, name: str) -> list[tuple[str, dict[str, Any]]]:
    return [(each["context"], question) for each in read(folder, name) for question in each["qas"]]


@pytest.mark.parametrize(("name", "passages"), [("train", 30), ("dev", 12)])
def test_answers_stand_where_the_file_says(folder: Path, name: str, passages: int) -> None:
    assert len(read(folder, name)) == passages
    for context, question in questions(folder, name):
        assert question["is_impossible"] == (not question["answers"])
        for answer in question["answers"] + question.get("plausible_answers", []):
            start = answer["answer_start"]
            assert context[start : start + len(answer["text"])] == answer["text"]


def test_no_passage_of_train_stands_in_dev(folder: Path) -> None:
    train, dev = ({each["context"] for each in read(folder, name)} for name in ("train", "dev"))
    assert len(train) == 30
    assert not train & dev


def test_every_question_has_its_own_id_and_is_asked_once_of_a_passage(folder: Path) -> None:
    asked = [*questions(folder, "train"), *questions(folder, "dev")]
    assert len({question["id"] for _, question in asked}) == len(asked)
    assert len(asked) == 42 * SMALL.questions


def test_some_questions_have_no_answer_in_the_passage(folder: Path) -> None:
    impossible = [question for _, question in questions(folder, "train") if question["is_impossible"]]
    share = len(impossible) / len(questions(folder, "train"))
    assert 0.2 < share < 0.5
    assert any(question["plausible_answers"] for question in impossible)


def test_what_is_asked_without_an_answer_is_never_told(folder: Path) -> None:
    for context, question in questions(folder, "train"):
        if question["is_impossible"]:
            kind, who = next(
                (kind, who)
                for kind in KINDS.values()
                for who in context.replace(".", "").split()
                if question["question"] in {asked.replace("{who}", who) for asked in kind.asked}
            )
            for sentence in kind.told:
                begin = sentence.replace("{who}", who).split("{what}")[0]
                assert begin not in context


def test_the_same_seed_tells_the_same_another_seed_another(folder: Path, tmp_path: Path) -> None:
    same = write_text(tmp_path / "same", SMALL)
    other = write_text(tmp_path / "other", TextSettings(train_passages=30, dev_passages=12, seed=4))
    assert (same / "train.json").read_bytes() == (folder / "train.json").read_bytes()
    assert (other / "train.json").read_bytes() != (folder / "train.json").read_bytes()


def test_a_passage_tells_each_fact_once() -> None:
    import random

    passage = tell(random.Random(0), TextSettings(facts=(5, 3)))
    told = [(fact.who, fact.kind) for fact in passage.facts]
    assert len(set(told)) == len(told) == 8
    assert passage.text.count(".") == 8


def test_the_project_reads_it_as_squad(folder: Path) -> None:
    dataset = load_dataset(find_task("squad2-span"), str(folder))
    rows = {split.name: len(split.rows) for split in dataset.splits}
    assert rows["train"] + rows["select"] == 30 * SMALL.questions
    assert rows["dev"] == 12 * SMALL.questions
