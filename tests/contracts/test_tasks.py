"""What every task promises, whatever it is about: the registered ones and users' own."""

import json
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
import transformers
from transformers import BertConfig

from bv_search.demo.tokenizer import build_tokenizer
from bv_search.encoder.encoder import logits_of
from bv_search.errors import DataError
from bv_search.predict.output import FORMATS
from bv_search.tasks import (
    TASKS,
    WINDOW_SCHEMA,
    Dataset,
    Kind,
    Role,
    Row,
    Task,
    difference,
    find_task,
    load_dataset,
    read_rows,
    task_from_json,
)

OWN = {
    "own-span": "kind: span\ncolumns: {question: q, passage: p, answers: a}\nmax_length: 48\nstride: 10\n",
    "own-classes": "kind: classification\nlabels: [x, y, z]\ncolumns: {text: t, label: l}\n",
    "own-values": "kind: regression\ncolumns: {text: t, text_pair: u, label: l}\nmetric: spearman\n",
}
ROWS, REPORT = 60, 24

# the header line of each official file (CoLA has none), and how row n is filled in
GLUE: dict[str, tuple[str, Callable[[int], tuple[object, ...]]]] = {
    "cola": ("", lambda n: ("gj04", n % 2, "*" if n % 2 else "", f"sentence {n}")),
    "sst2": ("sentence label", lambda n: (f"film {n} ", n % 2)),
    "mrpc": ("Quality|#1 ID|#2 ID|#1 String|#2 String", lambda n: (n % 2, n, n + 1, f'a " {n}', f"b {n}")),
    "stsb": (
        "index genre filename year old_index source1 source2 sentence1 sentence2 score",
        lambda n: (n, "g", "f", 2012, n, "none", "none", f"one {n}", f"two {n}", f"{n % 6}.{n % 10}00"),
    ),
    "qqp": ("id qid1 qid2 question1 question2 is_duplicate", lambda n: (n, n, n, f"why {n}", "how", n % 2)),
    "mnli": (
        "index promptID genre sentence1 sentence2 label1 gold_label",
        lambda n: (n, n, "g", f"premise {n}", "h", "neutral", TASKS["mnli"].labels[n % 3]),
    ),
    "qnli": (
        "index question sentence label",
        lambda n: (n, f"question {n}", f"passage {n}", TASKS["qnli"].labels[n % 2]),
    ),
    "rte": (
        "index sentence1 sentence2 label",
        lambda n: (n, f"premise {n}", "hypothesis", TASKS["rte"].labels[n % 2]),
    ),
    "wnli": ("index sentence1 sentence2 label", lambda n: (n, f"premise {n}", "hypothesis", n % 2)),
}


def squad_paragraph(n: int) -> dict[str, Any]:
    context = f"Tower {n} of the old town was built in {1700 + n}. " + "It stands by the river. " * (
        n % 5 * 4
    )
    answers = [{"text": str(1700 + n), "answer_start": context.index(str(1700 + n))}]
    questions = [
        {
            "id": f"{n}-a",
            "question": f"When was tower {n} built?",
            "answers": answers,
            "is_impossible": False,
        },
        {"id": f"{n}-b", "question": f"Who built tower {n}?", "answers": [], "is_impossible": True},
    ]
    return {"context": context, "qas": questions}


def write_squad(path: Path, numbers: range) -> None:
    data = [{"title": "Towers", "paragraphs": [squad_paragraph(n) for n in numbers]}]
    path.write_text(json.dumps({"version": "v2.0", "data": data}), encoding="utf-8")


def write_glue(path: Path, name: str, numbers: range) -> None:
    header, fill = GLUE[name]
    lines = [header.split("|" if "|" in header else " ")] if header else []
    lines += [[str(field) for field in fill(n)] for n in numbers]
    path.write_text("".join("\t".join(line) + "\n" for line in lines), encoding="utf-8")


def write_own(path: Path, name: str, numbers: range) -> None:
    def row(n: int) -> dict[str, object]:
        if name == "own-classes":
            return {"t": f"text {n}", "l": "xyz"[n % 3]}
        if name == "own-values":
            return {"t": f"text {n}", "u": "other", "l": n / 7}
        paragraph = squad_paragraph(n)
        return {"q": f"When {n}?", "p": paragraph["context"], "a": paragraph["qas"][n % 2]["answers"]}

    path.write_text("\n".join(json.dumps(row(n)) for n in numbers), encoding="utf-8")


@pytest.fixture(scope="module")
def tokenizer(generated_data: Path) -> Any:
    return build_tokenizer(generated_data, vocabulary=300, positions=512)


@pytest.fixture(scope="module", params=[*TASKS, *OWN])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def task(name: str, tmp_path_factory: pytest.TempPathFactory) -> Task:
    if name in TASKS:
        return TASKS[name]
    path = tmp_path_factory.mktemp("own") / f"{name}.yaml"
    path.write_text(OWN[name], encoding="utf-8")
    return find_task(str(path))


@pytest.fixture(scope="module")
def folder(name: str, task: Task, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The task's data in its official form."""
    folder = tmp_path_factory.mktemp(name)
    for split, numbers in {
        "train": range(ROWS),
        **dict.fromkeys(task.layout.report, range(ROWS, ROWS + REPORT)),
    }.items():
        if name in OWN:
            write_own(folder / f"{split}.jsonl", name, numbers)
        elif name in GLUE:
            write_glue(folder / f"{split}.tsv", name, numbers)
        else:
            write_squad(folder / f"{split}-v2.0.json", numbers)
    return folder


@pytest.fixture(scope="module")
def data(task: Task, folder: Path) -> Dataset:
    return load_dataset(task, str(folder))


@pytest.fixture(scope="module")
def rows(data: Dataset) -> tuple[Row, ...]:
    return data.rows(Role.REPORT)


@pytest.fixture(scope="module")
def index(task: Task, rows: tuple[Row, ...], tokenizer: Any) -> pa.Table:
    return task.windows(rows, tokenizer)


def perfect(task: Task, index: pa.Table) -> list[np.ndarray]:
    """The logits of an encoder that knows the labels."""
    logits = []
    for length, label in zip(index["length"].to_pylist(), index["label"].to_pylist(), strict=True):
        if task.kind is Kind.SPAN:
            one = np.zeros((length, 2), dtype=np.float32)
            one[int(label[0]), 0] = one[int(label[1]), 1] = 10
        elif task.kind is Kind.REGRESSION:
            one = np.array(label, dtype=np.float32)
        else:
            one = np.eye(task.outputs, dtype=np.float32)[int(label[0])]
        logits.append(one)
    return logits


def noise(task: Task, index: pa.Table, seed: int) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    shapes = [
        (length, 2) if task.kind is Kind.SPAN else (task.outputs,) for length in index["length"].to_pylist()
    ]
    return [rng.normal(size=shape).astype(np.float32) for shape in shapes]


def test_every_row_has_a_role_and_no_group_has_two(data: Dataset, task: Task) -> None:
    names = [split.name for split in data.splits]
    assert names == ["train", "select", *task.layout.report]
    assert all(data.rows(role) for role in Role)
    train, select = ({row.group for row in data.rows(role)} for role in (Role.TRAIN, Role.SELECT))
    assert not train & select
    ids = [row.id for role in Role for row in data.rows(role)]
    assert len(set(ids)) == len(ids)


def test_the_same_data_gives_the_same_rows(task: Task, folder: Path, data: Dataset) -> None:
    assert load_dataset(task, str(folder)).digest == data.digest
    assert load_dataset(task, str(folder), seed=1).digest != data.digest


def test_every_row_knows_its_label(data: Dataset) -> None:
    assert all(row.labelled for role in Role for row in data.rows(role))


def test_windows_follow_their_schema_and_their_rows(
    task: Task, rows: tuple[Row, ...], index: pa.Table
) -> None:
    assert index.schema == WINDOW_SCHEMA
    assert list(dict.fromkeys(index["row"].to_pylist())) == [row.id for row in rows]
    keys = {row.id: (row.key, row.group_key) for row in rows}
    counts: dict[str, int] = {}
    for window in index.to_pylist():
        number = counts.get(window["row"], 0)
        counts[window["row"]] = number + 1
        assert window["id"] == f"{window['row']}#{number}"
        assert (window["key"], window["group"]) == keys[window["row"]]
        assert 0 < window["length"] <= task.max_length
        assert window["length"] == len(window["token_ids"]) == len(window["type_ids"])


def test_only_spans_carry_their_passage(task: Task, index: pa.Table) -> None:
    for column in ("starts", "ends", "passage", "golds"):
        assert index[column].null_count == (0 if task.kind is Kind.SPAN else index.num_rows)
    if task.kind is Kind.SPAN:
        for window in index.to_pylist():
            assert len(window["starts"]) == len(window["ends"]) == window["length"]


def test_windows_of_one_text_are_known_whatever_is_asked_of_it(
    task: Task, rows: tuple[Row, ...], tokenizer: Any
) -> None:
    same = replace(rows[0], id="same", label=None, answers=None, group="elsewhere")
    asked = replace(same, id="asked", text_a="What else?")
    other = replace(same, id="other", text_a="Something", text_b=None if same.text_b is None else "else")
    windows = task.windows([rows[0], same, asked, other], tokenizer)
    of_row = dict(zip(windows["row"].to_pylist(), windows["text"].to_pylist(), strict=True))
    assert of_row["same"] == of_row[rows[0].id] != of_row["other"]
    assert (of_row["asked"] == of_row["same"]) is (task.kind is Kind.SPAN)


def test_no_rows_are_no_windows(task: Task, tokenizer: Any) -> None:
    assert task.windows([], tokenizer).schema == WINDOW_SCHEMA
    assert task.windows([], tokenizer).num_rows == 0


def test_knowing_the_labels_scores_one(task: Task, index: pa.Table) -> None:
    evaluation = task.evaluate(index, perfect(task, index))
    assert evaluation.score == pytest.approx(1.0)
    assert all(value == pytest.approx(1.0) for value in evaluation.metrics.values())


def test_the_score_is_a_metric_and_comes_from_the_outcome(task: Task, index: pa.Table) -> None:
    evaluation = task.evaluate(index, noise(task, index, 0))
    assert evaluation.score == evaluation.metrics[task.metric]
    assert evaluation.score == pytest.approx(evaluation.score_of(evaluation.outcome))
    assert len(evaluation.rows) == len(evaluation.outcome)
    assert all(isinstance(value, float) and np.isfinite(value) for value in evaluation.metrics.values())


def test_an_interval_holds_the_score(task: Task, index: pa.Table) -> None:
    evaluation = task.evaluate(index, noise(task, index, 0))
    low, high = evaluation.interval(samples=300)
    assert low <= evaluation.score <= high
    assert low < high
    assert evaluation.interval(samples=300) == (low, high)


def test_an_evaluation_knows_which_rows_belong_together(
    task: Task, rows: tuple[Row, ...], index: pa.Table
) -> None:
    evaluation = task.evaluate(index, noise(task, index, 0))
    assert evaluation.groups.tolist() == [row.group_key for row in rows]
    if evaluation.mean_of is not None:
        assert evaluation.mean_of.mean() == pytest.approx(evaluation.score)


def test_noise_is_worse_than_knowledge_and_no_better_than_itself(task: Task, index: pa.Table) -> None:
    good, bad = (task.evaluate(index, logits) for logits in (perfect(task, index), noise(task, index, 0)))
    delta, low, high = difference(good, bad, samples=300)
    assert 0 < low <= delta <= high
    assert difference(bad, bad, samples=50) == (0.0, 0.0, 0.0)


def test_the_order_of_windows_does_not_matter(task: Task, index: pa.Table) -> None:
    logits = noise(task, index, 1)
    order = np.random.default_rng(2).permutation(index.num_rows)
    shuffled, moved = index.take(pa.array(order)), [logits[place] for place in order]
    one, other = task.evaluate(index, logits), task.evaluate(shuffled, moved)
    assert other.metrics == pytest.approx(one.metrics)
    assert difference(one, other, samples=20) == pytest.approx((0.0, 0.0, 0.0))

    def by_id(each: dict[str, Any]) -> str:
        return str(each["id"])

    assert sorted(task.answers(shuffled, moved), key=by_id) == sorted(task.answers(index, logits), key=by_id)


def test_a_store_may_hand_over_slices_and_chunks(task: Task, index: pa.Table) -> None:
    logits = noise(task, index, 1)
    half = index.num_rows // 2
    chunked = pa.concat_tables([index.slice(0, half), index.slice(half)])
    assert task.evaluate(chunked, logits).metrics == task.evaluate(index, logits).metrics
    tail, whole = task.answers(index.slice(half), logits[half:]), task.answers(index, logits)
    assert tail[1:] == whole[-len(tail) :][1:]  # a row of several windows may begin before the slice


def test_answers_are_one_per_row_and_need_no_label(
    task: Task, rows: tuple[Row, ...], index: pa.Table, tokenizer: Any
) -> None:
    nobody_knows = [Row(id=row.id, text_a=row.text_a, text_b=row.text_b) for row in rows]
    bare = task.windows(nobody_knows, tokenizer)
    assert set(map(tuple, bare["label"].to_pylist())) == {()}
    answers = task.answers(bare, perfect(task, index))
    assert answers == task.answers(index, perfect(task, index))
    assert [answer["id"] for answer in answers] == [row.id for row in rows]
    json.dumps(answers, allow_nan=False)
    for answer, row in zip(answers, rows, strict=True):
        if task.kind is Kind.SPAN:
            expected: object = row.answers[0].text if row.answers else ""
        elif task.kind is Kind.REGRESSION:
            expected = pytest.approx(row.label)
        else:
            expected = task.labels[int(row.label or 0)]
        assert answer["prediction"] == expected


def test_logits_come_back_from_numbers_in_a_row_and_from_padding(task: Task, index: pa.Table) -> None:
    logits = noise(task, index, 0)
    flat = [each.reshape(-1) for each in logits]
    lengths_N = index["length"].to_numpy()
    assert task.logit_counts(lengths_N).tolist() == [len(each) for each in flat]
    assert all(map(np.array_equal, task.unflattened(flat), logits))
    padded = [np.pad(each, ((0, 3), (0, 0))) if task.per_token else each for each in logits]
    assert all(map(np.array_equal, map(task.unpadded, padded, lengths_N), logits))


def test_labels_of_the_data_are_sound_and_others_are_not(task: Task, index: pa.Table) -> None:
    lengths_N = index["length"].to_numpy()
    labels_ND = np.stack(index["label"].to_numpy())
    assert labels_ND.shape[1] == task.label_size
    values = labels_ND.reshape(-1)
    assert task.sound_labels(values, lengths_N).all()
    for wrong in (np.nan, np.inf):
        assert not task.sound_labels(np.full_like(values, wrong), lengths_N).any()
    if task.kind is not Kind.REGRESSION:
        past = np.repeat(lengths_N, 2) if task.per_token else np.full_like(values, len(task.labels))
        for wrong_N in (past, values - values - 1, values + 0.5):
            assert not task.sound_labels(wrong_N.astype(np.float64), lengths_N).any()


def test_what_others_are_told_of_answers_is_true(task: Task, index: pa.Table) -> None:
    types = {"string": str, "double": float}
    answers = task.answers(index, noise(task, index, 0))
    assert all(type(answer["prediction"]) is types[task.prediction_type] for answer in answers)
    FORMATS[task.suffix](answers)


def test_a_model_of_transformers_says_as_many_logits_as_the_task_has_outputs(task: Task) -> None:
    config = BertConfig(
        vocab_size=9, hidden_size=8, num_hidden_layers=1, num_attention_heads=1, intermediate_size=8
    )
    config.update(task.model_settings)
    model = getattr(transformers, task.model_class).from_config(config)
    output = model(input_ids=torch.zeros((2, 5), dtype=torch.int64))
    assert logits_of(output, task).shape == ((2, 5, 2) if task.per_token else (2, task.outputs))


def test_rows_without_labels_are_not_scored(task: Task, rows: tuple[Row, ...], tokenizer: Any) -> None:
    bare = task.windows([Row(id="1", text_a=rows[0].text_a, text_b=rows[0].text_b)], tokenizer)
    assert not task.labelled(bare)
    with pytest.raises(DataError, match="some rows have no label"):
        task.evaluate(bare, noise(task, bare, 0))


def test_a_task_travels_as_json_and_between_processes(task: Task) -> None:
    assert task_from_json(json.loads(json.dumps(task.to_json()))) == task
    assert pickle.loads(pickle.dumps(task)) == task


def test_a_single_file_can_be_read(task: Task, folder: Path, rows: tuple[Row, ...]) -> None:
    split = task.layout.report[0]
    path = next(path for path in folder.iterdir() if path.name.startswith(split))
    read = read_rows(task, path)
    assert [row.key for row in read] == [row.key for row in rows[: len(read)]]
