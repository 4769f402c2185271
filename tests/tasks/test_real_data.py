"""The real files, as published; skipped where they are not at hand."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bv_search.tasks import TASKS, Role, load_dataset


@pytest.mark.parametrize(
    ("task", "folder", "train", "select", "report"),
    [
        ("squad2-span", "squad2", 2826, 316, 1071),
        ("squad2-answerable", "squad2", 2826, 316, 1071),
        ("rte", "glue/RTE", 2190, 300, 277),
        ("mrpc", "glue/MRPC", 3300, 367, 408),
        ("stsb", "glue/STS-B", 5174, 575, 1500),
        ("sst2", "glue/SST-2", 60614, 6735, 872),
    ],
)
def test_every_row_is_read_and_has_a_role(
    real_data: Path, task: str, folder: str, train: int, select: int, report: int
) -> None:
    data = load_dataset(TASKS[task], str(real_data / folder))
    assert [len(data.rows(role)) for role in Role] == [train, select, report]
    assert all(row.labelled for role in Role for row in data.rows(role))


def test_labels_of_squad_stand_on_its_answers(real_data: Path, wordpiece: Any) -> None:
    task = TASKS["squad2-span"]
    rows = load_dataset(task, str(real_data / "squad2")).rows(Role.REPORT)
    index = task.windows(rows, wordpiece)
    assert index["length"].to_numpy().max() <= 386
    answered = set()
    for window in index.to_pylist():
        first, last = map(int, window["label"])
        if first:
            text = window["passage"][window["starts"][first] : window["ends"][last]]
            assert window["golds"][0].strip() in text
            answered.add(window["row"])
    assert answered <= {row.id for row in rows if row.answers}
    assert len(answered) > 0.99 * sum(bool(row.answers) for row in rows)


def test_always_refusing_scores_the_share_of_unanswerable_questions(real_data: Path, wordpiece: Any) -> None:
    task = TASKS["squad2-span"]
    rows = load_dataset(task, str(real_data / "squad2")).rows(Role.REPORT)
    index = task.windows(rows, wordpiece)
    refusing = task.evaluate(index, [np.zeros((n, 2), np.float32) for n in index["length"].to_pylist()])
    share = sum(not row.answers for row in rows) / len(rows)
    assert refusing.metrics == {
        "exact": pytest.approx(share),
        "f1": pytest.approx(share),
        "HasAns_exact": 0.0,
        "HasAns_f1": 0.0,
        "NoAns_exact": 1.0,
        "NoAns_f1": 1.0,
    }
    low, high = refusing.interval()
    assert low < share < high
    assert high - low < 0.07
