"""An index that was written whole may still say what cannot be."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from bv_search.store.index_check import flaws
from bv_search.store.store import Store, StoreSplit
from tests.store.small import make_store

Change = Callable[[list[Any]], None]


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> StoreSplit:
    place: Path = tmp_path_factory.mktemp("flaws") / "store"
    return Store.open(make_store(place).path).split("train")


def changed(index: pa.Table, name: str, change: Change) -> pa.Table:
    values = index[name].to_pylist()
    change(values)
    column = pa.array(values, index.schema.field(name).type)
    return index.set_column(index.schema.get_field_index(name), index.schema.field(name), column)


def put(value: object, at: int = 3) -> Change:
    return lambda values: values.__setitem__(at, value)


def test_an_index_as_it_is_written_has_none(split: StoreSplit) -> None:
    assert not list(flaws(split.index, split.entry, split.store.task))


@pytest.mark.parametrize(
    ("name", "change", "expected", "found"),
    [
        ("row", put(None), "a value in every row of row", "1 without"),
        ("token_ids", put([None, 1, 2]), "a value in every row of token_ids", "1 without"),
        ("id", put("r0#0"), "an id of its own for every window", "71 ids of 72 windows"),
        ("role", put("report"), "role train", "'train', 'report'"),
        ("tokens", put(0), "a stored token or more in every window", "0"),
        ("block", put(1), "windows in the order of 5 blocks", "another order"),
        ("offset", put(0), "windows back to back in their blocks", "other offsets"),
        ("label", put([0.0, 1.0]), "1 number(s) for a label, or none", "2"),
        ("label", put([2.0]), None, "2"),
        ("label", put([0.5]), None, "0.5"),
        ("length", put(1), "as many token_ids as its length in every window", "others"),
        ("type_ids", put([0]), "as many type_ids as its length in every window", "others"),
    ],
)
def test_what_cannot_be_is_said(
    split: StoreSplit, name: str, change: Change, expected: str | None, found: str
) -> None:
    task = split.store.task
    said = [(str(e), str(f)) for e, f in flaws(changed(split.index, name, change), split.entry, task)]
    assert (task.sound if expected is None else expected, found) in said


def test_a_token_below_none_is_found(split: StoreSplit) -> None:
    def negative(values: list[Any]) -> None:
        values[3][0] = -1

    index = changed(split.index, "token_ids", negative)
    assert list(flaws(index, split.entry, split.store.task)) == [("token ids of 0 or above", -1)]


def test_columns_that_are_not_there_are_not_looked_at(split: StoreSplit) -> None:
    index = changed(split.index, "token_ids", put([1])).drop_columns(["token_ids"])
    assert not list(flaws(index, split.entry, split.store.task))


def test_a_window_without_a_label_is_none(split: StoreSplit) -> None:
    assert not list(flaws(changed(split.index, "label", put([])), split.entry, split.store.task))
