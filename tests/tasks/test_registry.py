import pytest

from bv_search.errors import DataError, UnknownName
from bv_search.tasks import TASKS, Kind, find_task, task_from_json


def test_every_task_of_the_design_is_there() -> None:
    assert list(TASKS) == [
        "squad2-span", "squad2-answerable",
        "cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "qnli", "rte", "wnli",
    ]  # fmt: skip


def test_outputs_and_lengths_are_those_of_the_paper() -> None:
    assert {name: (task.kind, task.outputs, task.max_length) for name, task in TASKS.items()} == {
        "squad2-span": (Kind.SPAN, 2, 386),
        "squad2-answerable": (Kind.CLASSIFICATION, 2, 386),
        "mnli": (Kind.CLASSIFICATION, 3, 128),
        "stsb": (Kind.REGRESSION, 1, 128),
        "rte": (Kind.CLASSIFICATION, 2, 250),
        **dict.fromkeys(("cola", "sst2", "mrpc", "qqp", "qnli", "wnli"), (Kind.CLASSIFICATION, 2, 128)),
    }
    assert TASKS["squad2-span"].stride == 128


def test_every_score_is_the_designs() -> None:
    others = {"squad2-span": "f1", "cola": "matthews", "stsb": "pearson_spearman"}
    assert {name: task.metric for name, task in TASKS.items()} == {
        name: others.get(name, "accuracy") for name in TASKS
    }


def test_an_unknown_task_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName) as caught:
        find_task("squad-span")
    assert str(caught.value) == (
        "no task named 'squad-span'; expected one of cola, mnli, mrpc, qnli, qqp, rte, squad2-answerable, "
        "squad2-span, sst2, stsb, wnli; did you mean 'squad2-span'? "
        "or give the path of a YAML file that defines your own"
    )


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"kind": "span"},
        {"kind": "poem"},
        {**TASKS["rte"].to_json(), "more": 1},
        {"kind": "span", "layout": 3},
    ],
)
def test_a_damaged_description_is_refused(value: dict[str, object]) -> None:
    with pytest.raises(DataError, match=r"^task: is not the description of a task"):
        task_from_json(value)
