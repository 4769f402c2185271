"""Every task by its name: SQuAD 2.0 in two forms and the nine of GLUE."""

from typing import Any

from bv_search.errors import DataError, UnknownName
from bv_search.files import decode_at, home_path
from bv_search.tasks.classification import ClassificationTask, RegressionTask
from bv_search.tasks.layout import SQUAD_COLUMNS, ColumnNames, Layout
from bv_search.tasks.own import contradictions, read_own_task
from bv_search.tasks.span import SpanTask
from bv_search.tasks.task import Kind, Task

KINDS: dict[Kind, type[Task]] = {
    Kind.SPAN: SpanTask,
    Kind.CLASSIFICATION: ClassificationTask,
    Kind.REGRESSION: RegressionTask,
}


def _glue(config: str, *columns: ColumnNames, **rest: Any) -> Layout:
    return Layout(columns=columns, hub="nyu-mll/glue", config=config, **rest)


_SQUAD = Layout(columns=(SQUAD_COLUMNS,), hub="rajpurkar/squad_v2", answers=True)
_PAIR = ColumnNames(text_a="sentence1", text_b="sentence2", target="label")
_SENTENCE = ColumnNames(text_a="sentence", target="label")
_NLI = ("entailment", "neutral", "contradiction")
_ENTAILED = ("entailment", "not_entailment")

_ALL: tuple[Task, ...] = (
    SpanTask(name="squad2-span", metric="f1", max_length=386, stride=128, layout=_SQUAD),
    ClassificationTask(
        name="squad2-answerable",
        labels=("unanswerable", "answerable"),
        metric="accuracy",
        metrics=("f1",),
        max_length=386,
        layout=_SQUAD,
    ),
    ClassificationTask(
        name="cola",
        labels=("unacceptable", "acceptable"),
        metric="matthews",
        metrics=("accuracy",),
        max_length=128,
        layout=_glue("cola", _SENTENCE, header=("source", "label", "star", "sentence")),
    ),
    ClassificationTask(
        name="sst2",
        labels=("negative", "positive"),
        metric="accuracy",
        max_length=128,
        layout=_glue("sst2", _SENTENCE),
    ),
    ClassificationTask(
        name="mrpc",
        labels=("not_equivalent", "equivalent"),
        metric="accuracy",
        metrics=("f1",),
        max_length=128,
        layout=_glue("mrpc", ColumnNames(text_a="#1 String", text_b="#2 String", target="Quality"), _PAIR),
    ),
    RegressionTask(
        name="stsb",
        metric="pearson_spearman",
        metrics=("pearson", "spearman"),
        max_length=128,
        layout=_glue("stsb", ColumnNames(text_a="sentence1", text_b="sentence2", target="score"), _PAIR),
    ),
    ClassificationTask(
        name="qqp",
        labels=("not_duplicate", "duplicate"),
        metric="accuracy",
        metrics=("f1",),
        max_length=128,
        layout=_glue(
            "qqp",
            ColumnNames(text_a="question1", text_b="question2", target="is_duplicate"),
            ColumnNames(text_a="question1", text_b="question2", target="label"),
            torn_rows=True,
        ),
    ),
    ClassificationTask(
        name="mnli",
        labels=_NLI,
        metric="accuracy",
        max_length=128,
        layout=_glue(
            "mnli",
            ColumnNames(text_a="sentence1", text_b="sentence2", target="gold_label"),
            ColumnNames(text_a="premise", text_b="hypothesis", target="label"),
            report=("dev_matched", "dev_mismatched"),
        ),
    ),
    ClassificationTask(
        name="qnli",
        labels=_ENTAILED,
        metric="accuracy",
        max_length=128,
        layout=_glue(
            "qnli", ColumnNames(text_a="question", text_b="sentence", target="label", group="sentence")
        ),
    ),
    ClassificationTask(
        name="rte",
        labels=_ENTAILED,
        metric="accuracy",
        max_length=250,
        layout=_glue("rte", _PAIR),
    ),
    ClassificationTask(
        name="wnli",
        labels=("not_entailment", "entailment"),
        metric="accuracy",
        max_length=128,
        layout=_glue("wnli", _PAIR),
    ),
)

TASKS: dict[str, Task] = {task.name: task for task in _ALL}


def find_task(name: str) -> Task:
    """A task of this project by its name, or a user's own by the path of its YAML file."""
    if name in TASKS:
        return TASKS[name]
    if name.endswith((".yaml", ".yml")):
        fields, kind = read_own_task(home_path(name), taken=TASKS)
        return KINDS[kind](**fields)
    raise UnknownName("task", name, TASKS, do="or give the path of a YAML file that defines your own")


def task_from_json(value: Any, where: object = "task") -> Task:
    """The task that `Task.to_json` wrote, whole, so that a user's own task travels with its store."""
    kinds: dict[object, type[Task]] = {str(kind): task for kind, task in KINDS.items()}
    said = value.get("kind") if isinstance(value, dict) else None
    if not isinstance(said, str) or said not in kinds:
        raise DataError(
            "is not the description of a task",
            where=where,
            expected=f"kind: one of {', '.join(map(str, KINDS))}",
            found=repr(said),
        )
    fields = {name: item for name, item in value.items() if name != "kind"}
    task = decode_at(kinds[said], fields, DataError, where=where, what="is not the description of a task")
    for expected, found in contradictions(task):
        raise DataError("is no task", where=where, expected=expected, found=found)
    return task
