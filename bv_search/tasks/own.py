"""A user's own task: a YAML file with its kind, columns and metric.

    name: reviews
    kind: classification            # or span, regression
    labels: [bad, good]             # of a classification
    columns: {text: body, label: stars}   # text_pair, group and id are optional
    metric: macro_f1
    max_length: 256

Of a span task the columns are question, passage and answers.
"""

import math
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from bv_search.document import Unreadable, load_yaml
from bv_search.errors import DataError, UnknownName
from bv_search.tasks.layout import SQUAD_COLUMNS, ColumnNames, Layout
from bv_search.tasks.metrics import CLASS_METRICS
from bv_search.tasks.record import read_bytes
from bv_search.tasks.task import Kind, Task

METRICS: dict[Kind, tuple[str, ...]] = {
    Kind.SPAN: ("f1",),
    Kind.CLASSIFICATION: tuple(CLASS_METRICS),
    Kind.REGRESSION: ("pearson_spearman", "pearson", "spearman"),
}
OF_TWO = ("f1", "matthews")  # the second class against the first
FIELDS = ("name", "kind", "labels", "columns", "metric", "max_length", "stride", "hub")
SHORTEST, LONGEST = 16, 8192  # tokens of a window
MOST_LABELS = 10_000
_TEXT_COLUMNS = ("text", "text_pair", "label", "group", "id")
_SPAN_COLUMNS = ("question", "passage", "answers", "group", "id")
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def read_own_task(path: Path, taken: Container[str]) -> tuple[dict[str, Any], Kind]:
    """The fields of the task in a YAML file, all checked, and its kind."""
    value = _parse(path)
    _require_known(path, "field", value, FIELDS)
    kind = _kind(path, value)
    name = _name(path, value, taken)
    labels = _labels(path, value, kind)
    metric = value.get("metric", METRICS[kind][0])
    if not isinstance(metric, str) or metric not in METRICS[kind]:
        raise _unknown(path, f"metric of a {kind} task", metric, METRICS[kind])
    if metric in OF_TWO and len(labels) > 2:
        raise DataError(
            f"{metric} is of two classes", where=path, expected="accuracy or macro_f1", found=f"{len(labels)}"
        )
    max_length = _whole(path, value, "max_length", 386 if kind is Kind.SPAN else 128, SHORTEST, LONGEST)
    stride = _whole(path, value, "stride", max_length // 3, 0, max_length // 2) if kind is Kind.SPAN else 0
    fields = {
        "name": name,
        "metric": metric,
        "metrics": _other_metrics(kind, metric, labels),
        "max_length": max_length,
        "stride": stride,
        "labels": labels,
        "layout": _layout(path, value, kind),
    }
    return fields, kind


def contradictions(task: Task) -> Iterator[tuple[object, object]]:
    """What a description of a task would have to say, and what this one says; types are not looked at."""
    kind = task.kind
    if not _NAME.fullmatch(task.name):
        yield "a name of lower-case letters, digits, '.', '_' and '-'", repr(task.name)
    for metric in (task.metric, *task.metrics):
        if metric not in METRICS[kind]:
            yield f"metrics of a {kind} task: {', '.join(METRICS[kind])}", repr(metric)
    least, most = (2, MOST_LABELS) if kind is Kind.CLASSIFICATION else (0, 0)
    if not least <= len(set(task.labels)) == len(task.labels) <= most:
        yield f"{least} to {most} different labels", len(task.labels)
    if not 1 <= task.max_length <= LONGEST:
        yield f"a max_length from 1 to {LONGEST}", task.max_length
    if not 0 <= task.stride < task.max_length:
        yield "a stride below max_length", task.stride
    if not task.layout.columns or not task.layout.report:
        yield "columns and an evaluation split", "none"


def _parse(path: Path) -> dict[str, Any]:
    try:
        value = load_yaml(read_bytes(path), words=True)
    except Unreadable as error:
        raise DataError("is not YAML", where=path, found=error.found) from error
    if not isinstance(value, dict):
        raise DataError(
            "defines no task", where=path, expected=f"the fields {', '.join(FIELDS)}", found=repr(value)
        )
    return value


def _require_known(path: Path, what: str, names: Iterable[object], known: tuple[str, ...]) -> None:
    for name in names:
        if not isinstance(name, str) or name not in known:
            raise _unknown(path, what, name, known)


def _unknown(path: Path, what: str, name: object, known: tuple[str, ...]) -> DataError:
    error = UnknownName(what, name, known)
    return DataError(error.what, where=path, expected=error.expected, do=error.do)


def _name(path: Path, value: Mapping[str, Any], taken: Container[str]) -> str:
    given = value.get("name", path.stem)
    name = str(given) if isinstance(given, str | int) else ""
    if not _NAME.fullmatch(name):
        raise DataError(
            "the name cannot stand in file names",
            where=path,
            expected="lower-case letters, digits, '.', '_' and '-'",
            found=repr(given),
        )
    if name in taken:
        raise DataError(
            f"the name {name!r} is that of a task of this project", where=path, do="choose another"
        )
    return name


def _kind(path: Path, value: Mapping[str, Any]) -> Kind:
    known = tuple(str(kind) for kind in Kind)
    if "kind" not in value:
        raise DataError("lacks its kind", where=path, expected=f"kind: one of {', '.join(known)}")
    if not isinstance(value["kind"], str) or value["kind"] not in known:
        raise _unknown(path, "kind of task", value["kind"], known)
    return Kind(value["kind"])


def _labels(path: Path, value: Mapping[str, Any], kind: Kind) -> tuple[str, ...]:
    labels = value.get("labels", [])
    if kind is not Kind.CLASSIFICATION:
        if labels:
            raise DataError(f"a {kind} task has no labels", where=path, found=repr(labels)[:60])
        return ()
    names = [_label(each) for each in labels] if isinstance(labels, list) else []
    if not 2 <= len(names) <= MOST_LABELS or "" in names or len(set(names)) < len(names):
        raise DataError(
            "labels do not name the classes",
            where=path,
            expected="labels: [two, or, more, different]",
            found=repr(labels)[:60],
        )
    return tuple(names)


def _label(value: object) -> str:
    """A word or a number, as it stands in a column; nothing where it is none."""
    number = type(value) is int or (type(value) is float and math.isfinite(value))
    return str(value).strip() if number or isinstance(value, str) else ""


def _layout(path: Path, value: Mapping[str, Any], kind: Kind) -> Layout:
    own = _columns(path, value, kind)
    if kind is Kind.SPAN:
        return Layout(columns=(own, SQUAD_COLUMNS), hub=_hub(path, value), answers=True)
    return Layout(columns=(own,), hub=_hub(path, value))


def _columns(path: Path, value: Mapping[str, Any], kind: Kind) -> ColumnNames:
    known = _SPAN_COLUMNS if kind is Kind.SPAN else _TEXT_COLUMNS
    default = {"question": "question", "passage": "context", "answers": "answers"}
    names = value.get("columns", default if kind is Kind.SPAN else None)
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise DataError(
            "columns do not name the columns of the data",
            where=path,
            expected=f"columns: {{{known[0]}: COLUMN, …}}",
            found=repr(names)[:60],
        )
    _require_known(path, "column", names, known)
    required = ("question", "passage", "answers") if kind is Kind.SPAN else ("text", "label")
    texts = [names[each] for each in (*required, "text_pair") if each in names]
    if len(set(texts)) < len(texts):
        raise DataError(
            "columns name one twice", where=path, expected="a column each", found=repr(names)[:60]
        )
    for each in required:
        if each not in names:
            raise DataError(f"columns lack {each!r}", where=path, expected=f"columns: {{{each}: COLUMN}}")
    if kind is Kind.SPAN:
        question, passage, target = (names[each] for each in required)
        group = names.get("group", passage)
        return ColumnNames(text_a=question, text_b=passage, target=target, group=group, id=names.get("id"))
    return ColumnNames(
        text_a=names["text"],
        text_b=names.get("text_pair"),
        target=names["label"],
        group=names.get("group"),
        id=names.get("id"),
    )


def _whole(path: Path, value: Mapping[str, Any], name: str, default: int, low: int, high: int) -> int:
    number = value.get(name, default)
    if type(number) is not int or not low <= number <= high:
        expected = f"a whole number from {low} to {high}"
        raise DataError(f"{name} is out of range", where=path, expected=expected, found=repr(number))
    return number


def _hub(path: Path, value: Mapping[str, Any]) -> str | None:
    hub = value.get("hub")
    if hub is not None and not isinstance(hub, str):
        raise DataError("hub is not an id", where=path, expected="hub: owner/name", found=repr(hub))
    return hub


def _other_metrics(kind: Kind, metric: str, labels: tuple[str, ...]) -> tuple[str, ...]:
    if kind is Kind.SPAN:
        return ()
    names = METRICS[kind]
    if kind is Kind.CLASSIFICATION:
        names = ("accuracy", "f1") if len(labels) == 2 else ("accuracy", "macro_f1")
    return tuple(name for name in names if name != metric)
