"""A store of hidden states that were made elsewhere, without an encoder of ours.

    hidden  (N, L, H): N rows, L layers, one token each; (N, H): one layer; (N, L, T, H): T tokens each. Or an
            iterable of N such rows, whose T may differ; it is gone through once, and need not fit memory.
    labels  of N rows: names or whole numbers are classes, fractions are values

Rows go into the splits train, select and report; where nobody says which, both are cut from train.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict, Unpack, overload

import numpy as np

from bv_search.errors import DataError
from bv_search.files import digest_json
from bv_search.store.dtype import narrow, stored_dtype, widen
from bv_search.store.layout import ALL, FIRST, seeded_order
from bv_search.store.manifest import EncoderEntry
from bv_search.store.writer import SplitArrays, write_store
from bv_search.tasks.classification import ClassificationTask, RegressionTask
from bv_search.tasks.cut import cut_rows
from bv_search.tasks.layout import ColumnNames, Layout
from bv_search.tasks.own import LONGEST, SHORTEST
from bv_search.tasks.registry import find_task, task_from_json
from bv_search.tasks.row import Role, Row, text_key
from bv_search.tasks.task import Task
from bv_search.tasks.window import WindowRows

Hidden = np.ndarray | Iterable[np.ndarray]
Labels = Sequence[Any] | np.ndarray
LAYOUT = Layout(columns=(ColumnNames(text_a="text", target="label"),))


class ArraysOptions(TypedDict, total=False):
    """What may be said beside hidden states and labels."""

    task: str | Task | None  # None: by the labels
    name: str  # of the task, where the labels decide
    splits: Sequence[str] | None  # train, select or report, of each row
    groups: Sequence[str] | None  # rows of a group stay on one side of a cut
    ids: Sequence[str] | None  # of the rows; None: their numbers
    encoder: str  # where the hidden states are from, for a reader
    encoder_parameters: int  # what a head's size is compared with; 0: nobody knows
    dtype: str  # float16 or bfloat16
    seed: int  # of the cuts, and of the order of rows


def write_arrays(place: str | Path, hidden: Hidden, labels: Labels, **options: Unpack[ArraysOptions]) -> None:
    seed, dtype = options.get("seed", 0), options.get("dtype", "float16")
    stored_dtype(dtype)
    task = _task(options.get("task"), labels, options.get("name", "own"))
    rows = _rows(task, labels, options.get("ids"), options.get("groups"))
    roles = _roles(rows, options.get("splits"), seed)
    with tempfile.TemporaryFile(dir=_near(place)) as file:
        states = States.gather(hidden, file, dtype)
        if len(states) != len(rows):
            raise DataError("hidden states and labels differ", expected=len(rows), found=len(states))
        if options.get("task") is None:
            longest = max(states.tokens(number) for number in range(len(states)))
            task = replace(task, max_length=max(SHORTEST, longest))
        task_from_json(task.to_json())  # whoever reads the store finds it sound
        one_token = all(states.tokens(number) == 1 for number in range(len(states)))
        splits = {}
        for role in Role:
            chosen = np.flatnonzero(np.array([each == role for each in roles]))
            order = chosen[seeded_order(len(chosen), seed, str(role))]
            splits[str(role)] = SplitArrays(
                role=str(role), index=_index(rows, order, states), hidden=Chosen(states, order)
            )
        write_store(
            place,
            splits,
            task=task.to_json(),
            encoder=EncoderEntry(
                id=options.get("encoder", "arrays"),
                revision=None,
                digest="none",
                parameters=options.get("encoder_parameters", 0),
            ),
            tokens=FIRST if one_token else ALL,
            dtype=dtype,
            seed=seed,
            data=digest_json({"ids": [row.id for row in rows], "labels": [row.label for row in rows]}),
        )


class States:
    """hidden_LTH of every row: of an array where it stands, of others in a file, as they are stored."""

    def __init__(self, dtype: str) -> None:
        self._dtype = dtype
        self._rows: list[np.ndarray] = []

    @classmethod
    def gather(cls, hidden: Hidden, file: Any, dtype: str) -> "States":
        states = cls(dtype)
        if isinstance(hidden, np.ndarray):
            states._rows = [_shaped(row, number) for number, row in enumerate(hidden)]
        else:
            states._spool(hidden, file)
        shapes = {(row.shape[0], row.shape[2]) for row in states._rows}
        if len(shapes) != 1:
            found = ", ".join(f"{layers}x{width}" for layers, width in sorted(shapes)) or "no rows"
            raise DataError("rows differ in layers or width", expected="one shape LxH", found=found)
        return states

    def _spool(self, hidden: Iterable[np.ndarray], file: Any) -> None:
        """What an iterator gives is gone afterwards, and the store has another order."""
        shapes = []
        for number, row in enumerate(hidden):
            stored = narrow(_shaped(np.asarray(row), number).astype(np.float32), self._dtype)
            shapes.append(stored.shape)
            file.write(np.ascontiguousarray(stored).data)
        file.flush()
        if not shapes:
            return
        flat = np.memmap(file, stored_dtype(self._dtype), mode="r")
        ends = np.cumsum([np.prod(shape) for shape in shapes])
        self._rows = [
            flat[end - np.prod(shape) : end].reshape(shape) for end, shape in zip(ends, shapes, strict=True)
        ]

    def __len__(self) -> int:
        return len(self._rows)

    def tokens(self, number: int) -> int:
        return int(self._rows[number].shape[1])

    def wide(self, number: int) -> np.ndarray:
        row = self._rows[number]
        if row.dtype == stored_dtype(self._dtype) and row.dtype.kind == "u":
            return widen(row, self._dtype)
        return row.astype(np.float32)


class Chosen(Sequence[np.ndarray]):
    """Some rows in an order, each widened when it is asked for."""

    def __init__(self, states: States, order: np.ndarray) -> None:
        self._states, self._order = states, order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, number: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, number: slice) -> "Chosen": ...
    def __getitem__(self, number: int | slice) -> "np.ndarray | Chosen":
        if isinstance(number, slice):
            return Chosen(self._states, self._order[number])
        return self._states.wide(int(self._order[number]))

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[number] for number in range(len(self)))


def _shaped(row: np.ndarray, number: int) -> np.ndarray:
    """hidden_LTH of a row."""
    if row.dtype.kind != "f" or row.ndim not in (1, 2, 3) or not row.size:
        raise DataError(
            "is no hidden state",
            where=f"row {number}",
            expected="floats (H,), (L, H) or (L, T, H)",
            found=f"{row.dtype} {row.shape}",
        )
    if row.ndim == 1:
        return row[None, None]
    return row[:, None] if row.ndim == 2 else row


def _task(task: str | Task | None, labels: Labels, name: str) -> Task:
    if isinstance(task, str):
        task = find_task(task)
    if task is None:
        return _task_of_labels(labels, name)
    if task.per_token:
        raise DataError(
            "a task of spans needs texts",
            where=task.name,
            expected="classes or values",
            do="extract with an encoder",
        )
    return task


def _task_of_labels(labels: Labels, name: str) -> Task:
    fields: dict[str, Any] = {"name": name, "max_length": LONGEST, "layout": LAYOUT}
    if np.asarray(labels).dtype.kind == "f":
        return RegressionTask(**fields, metric="pearson_spearman", metrics=("pearson", "spearman"))
    found = set(np.asarray(labels).tolist())
    if len(kinds := {type(each).__name__ for each in found}) > 1:
        raise DataError(
            "labels are of several types", expected="names, or numbers", found=", ".join(sorted(kinds))
        )
    names = tuple(str(each) for each in sorted(found))
    if len(names) < 2:
        raise DataError("labels name no classes", expected="two or more", found=", ".join(names) or "none")
    others = ("f1",) if len(names) == 2 else ("macro_f1",)
    return ClassificationTask(**fields, labels=names, metric="accuracy", metrics=others)


def _rows(task: Task, labels: Labels, ids: Sequence[str] | None, groups: Sequence[str] | None) -> list[Row]:
    values = np.asarray(labels).tolist()
    names = [str(number) for number in range(len(values))] if ids is None else [str(each) for each in ids]
    if len(set(names)) < len(names):
        raise DataError("ids are not different", found=f"{len(set(names))} of {len(names)}")
    for what, given in (("ids", names), ("groups", groups)):
        if given is not None and len(given) != len(values):
            raise DataError(f"{what} and labels differ", expected=len(values), found=len(given))
    own = names if groups is None else [str(group) for group in groups]
    numbers = {label: number for number, label in enumerate(task.labels)}
    return [
        Row(id=name, text_a=name, group=group, label=_label(numbers, value, name))
        for name, group, value in zip(names, own, values, strict=True)
    ]


def _label(numbers: Mapping[str, int], value: Any, name: str) -> float:
    """A value; of classes the number of its name. A whole number is one, where no class is called so."""
    if not numbers and isinstance(value, int | float) and np.isfinite(value):
        return float(value)
    if str(value) in numbers:
        return float(numbers[str(value)])
    if type(value) is int and 0 <= value < len(numbers):
        return float(value)
    expected = f"one of {', '.join(numbers)}" if numbers else "a finite number"
    raise DataError("has no label of the task", where=f"row {name}", expected=expected, found=repr(value))


def _roles(rows: Sequence[Row], splits: Sequence[str] | None, seed: int) -> list[Role]:
    """As said; what nobody is said to be in is cut from train, first report and then select."""
    roles = [Role.TRAIN] * len(rows) if splits is None else [_role(each) for each in splits]
    if len(roles) != len(rows):
        raise DataError("splits and labels differ", expected=len(rows), found=len(roles))
    for missing in (Role.REPORT, Role.SELECT):
        if missing not in roles:
            training = [row for row, role in zip(rows, roles, strict=True) if role is Role.TRAIN]
            if len({row.group for row in training}) < 2:
                raise DataError(
                    f"{missing} cannot be cut from train",
                    expected="two groups of rows or more",
                    do="say splits=…",
                )
            withheld = {row.id for row in cut_rows(training, seed=seed, salt=str(missing))[1]}
            roles = [missing if row.id in withheld else role for row, role in zip(rows, roles, strict=True)]
    if Role.TRAIN not in roles:
        raise DataError("no row is in train", expected="some to learn from")
    return roles


def _role(name: str) -> Role:
    if str(name) not in set(Role):
        raise DataError("is no split", where=repr(name), expected=", ".join(Role))
    return Role(str(name))


def _index(rows: Sequence[Row], order: np.ndarray, states: States) -> Any:
    chosen = [rows[number] for number in order]
    nothing = [np.zeros(states.tokens(int(number)), np.int32) for number in order]
    return WindowRows(
        ids=[f"{row.id}#0" for row in chosen],
        rows=[row.id for row in chosen],
        keys=[row.key for row in chosen],
        groups=[row.group_key for row in chosen],
        texts=[text_key(row.text_a) for row in chosen],
        token_ids=nothing,
        type_ids=nothing,
        labels=[[float(row.label or 0.0)] for row in chosen],
    ).table()


def _near(place: str | Path) -> str | None:
    """On the disk that is large enough for the store, where it is one of this machine."""
    if "://" in str(place):
        return None
    folder = Path(place).expanduser().absolute().parent
    return str(next(each for each in (folder, *folder.parents) if each.is_dir()))
