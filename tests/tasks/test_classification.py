from typing import Any

import numpy as np
import pytest

from bv_search.tasks import TASKS, Row


def label_logits(labels: list[int], classes: int) -> list[np.ndarray]:
    return list(np.eye(classes, dtype=np.float32)[labels])


def test_a_single_text_is_one_segment_and_a_pair_two(wordpiece: Any) -> None:
    single = TASKS["sst2"].windows([Row(id="a", text_a="a boring film", label=0.0)], wordpiece)
    pair = TASKS["rte"].windows([Row(id="a", text_a="a film", text_b="a museum", label=0.0)], wordpiece)
    assert set(single["type_ids"].to_pylist()[0]) == {0}
    assert set(pair["type_ids"].to_pylist()[0]) == {0, 1}
    assert single["starts"].null_count == single["golds"].null_count == 1


def test_texts_that_are_too_long_are_cut(wordpiece: Any) -> None:
    row = Row(id="a", text_a="film " * 300, text_b="museum " * 300, label=0.0)
    window = TASKS["mrpc"].windows([row], wordpiece).to_pylist()[0]
    assert window["length"] == len(window["token_ids"]) == 128
    assert window["type_ids"].count(1) > 50


def test_only_the_passage_of_a_question_is_cut(wordpiece: Any) -> None:
    task = TASKS["squad2-answerable"]
    question = "Who founded the museum?"
    rows = [Row(id="a", text_a=question, text_b="The museum. " * 400, label=1.0)]
    window = task.windows(rows, wordpiece).to_pylist()[0]
    words = wordpiece(question, add_special_tokens=False)["input_ids"]
    assert window["length"] == 386
    assert window["token_ids"][1 : 1 + len(words)] == words
    assert window["label"] == [1.0]


def test_windows_are_those_of_the_tokenizer(wordpiece: Any, byte_pairs: Any) -> None:
    rows = [Row(id=str(n), text_a="a film " * n, text_b="the museum " * n, label=0.0) for n in range(90)]
    for tokenizer in (wordpiece, byte_pairs):
        theirs = tokenizer(
            [row.text_a for row in rows],
            [row.text_b for row in rows],
            truncation=True,
            max_length=128,
            return_token_type_ids=True,
        )
        index = TASKS["mrpc"].windows(rows, tokenizer)
        assert index["token_ids"].to_pylist() == theirs["input_ids"]
        assert index["type_ids"].to_pylist() == theirs["token_type_ids"]


def test_probabilities_are_of_the_names_of_the_labels(wordpiece: Any) -> None:
    task = TASKS["sst2"]
    index = task.windows([Row(id="a", text_a="fine")], wordpiece)
    answer = task.answers(index, [np.array([0.0, np.log(3.0)], dtype=np.float32)])[0]
    assert answer["id"] == "a"
    assert answer["prediction"] == "positive"
    assert answer["probabilities"] == {"negative": pytest.approx(0.25), "positive": pytest.approx(0.75)}


def test_large_logits_have_probabilities_too(wordpiece: Any) -> None:
    task = TASKS["sst2"]
    index = task.windows([Row(id="a", text_a="fine")], wordpiece)
    answer = task.answers(index, [np.array([0.0, 1000.0], dtype=np.float32)])[0]
    assert answer["probabilities"] == {"negative": 0.0, "positive": 1.0}


def test_windows_are_no_longer_than_the_encoder_reads(
    wordpiece: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wordpiece, "model_max_length", 40)
    row = Row(id="a", text_a="film " * 300, text_b="museum " * 300, label=0.0)
    assert TASKS["mrpc"].windows([row], wordpiece)["length"].to_pylist() == [40]


def test_mnli_scores_the_mean_of_its_two_sets_whatever_their_sizes(wordpiece: Any) -> None:
    task = TASKS["mnli"]
    names = ["dev_matched-0", "dev_matched-1", "dev_matched-2", "dev_matched-3", "dev_mismatched-0"]
    rows = [Row(id=name, text_a="a", text_b="b", label=2.0) for name in names]
    right = task.evaluate(task.windows(rows, wordpiece), label_logits([2, 2, 2, 0, 1], 3))
    assert right.metrics == {
        "accuracy": pytest.approx((3 / 4 + 0) / 2),
        "accuracy_dev_matched": 0.75,
        "accuracy_dev_mismatched": 0.0,
    }
    assert right.score == right.score_of(right.outcome) == pytest.approx(0.375)


def test_mnli_scores_other_rows_plainly(wordpiece: Any) -> None:
    task = TASKS["mnli"]
    rows = [Row(id=f"train-{n}", text_a="a", text_b="b", label=0.0) for n in range(4)]
    assert task.evaluate(task.windows(rows, wordpiece), label_logits([0, 0, 0, 1], 3)).metrics == {
        "accuracy": 0.75
    }


def test_cola_scores_matthews_and_mrpc_adds_f1(wordpiece: Any) -> None:
    rows = [Row(id=str(n), text_a="a", text_b="b", label=float(n < 3)) for n in range(6)]
    logits = label_logits([1, 1, 0, 0, 0, 1], 2)  # tp 2, fn 1, tn 2, fp 1
    cola = TASKS["cola"].evaluate(TASKS["cola"].windows(rows, wordpiece), logits)
    mrpc = TASKS["mrpc"].evaluate(TASKS["mrpc"].windows(rows, wordpiece), logits)
    assert cola.metrics == {"matthews": pytest.approx(1 / 3), "accuracy": pytest.approx(2 / 3)}
    assert mrpc.metrics == {"accuracy": pytest.approx(2 / 3), "f1": pytest.approx(2 / 3)}


def test_stsb_scores_the_mean_of_two_correlations(wordpiece: Any) -> None:
    task = TASKS["stsb"]
    rows = [Row(id=str(n), text_a="a", text_b="b", label=float(n)) for n in range(4)]
    index = task.windows(rows, wordpiece)
    rising = task.evaluate(index, [np.array([2.0**n], dtype=np.float32) for n in range(4)])
    assert rising.metrics["spearman"] == pytest.approx(1.0)
    assert rising.metrics["pearson"] == pytest.approx(np.corrcoef([1, 2, 4, 8], range(4))[0, 1])
    assert rising.score == pytest.approx((1 + rising.metrics["pearson"]) / 2)
    assert task.answers(index, [np.array([2.5], np.float32)] * 4)[0] == {"id": "0", "prediction": 2.5}
