"""What a store's rows let one doubt, whatever encoder read them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bv_search.scan.store_view import doubts
from bv_search.store.doubts import doubts_of_rows
from bv_search.store.info import describe, render
from bv_search.store.store import Store
from bv_search.store.writer import SplitArrays
from tests.store.small import make_split, make_store


def split(
    role: str,
    texts: Sequence[int],
    groups: Sequence[int] | None = None,
    rows: Sequence[str] | None = None,
) -> SplitArrays:
    """A window of each text, of the groups and the rows given, or each by itself."""
    arrays = make_split(len(texts), role=role)
    columns = {
        "row": pa.array(rows or [f"{role}-{number}" for number in range(len(texts))]),
        "text": pa.array(np.array(texts, np.uint64)),
        "group": pa.array(np.array(texts if groups is None else groups, np.uint64)),
    }
    index = arrays.index
    for name, column in columns.items():
        index = index.set_column(index.schema.get_field_index(name), index.schema.field(name), column)
    return replace(arrays, index=index)


@pytest.fixture
def overlapping(tmp_path: Path) -> Store:
    """Of 40 training texts two stand in select, one of them twice, and one in report."""
    return make_store(
        tmp_path / "it",
        {
            "train": split("train", range(40)),
            "select": split("select", [3, 5, 5, *range(100, 130)]),
            "dev": split("report", [39, *range(200, 231)]),
        },
    )


SHARED = [
    "Training rows share their texts with 3 of the 33 windows of select: scores on them may be too good.",
    "Training rows share their texts with 1 of the 32 windows of report: scores on them may be too good.",
]


def test_texts_on_both_sides_are_counted(overlapping: Store) -> None:
    assert list(doubts_of_rows(overlapping)) == SHARED


def test_tune_report_and_info_tell_of_them(overlapping: Store) -> None:
    assert doubts(overlapping) == SHARED
    info = describe(overlapping)
    assert info["doubts"] == SHARED
    assert render(info).endswith("\n".join(f"  {line}" for line in SHARED))


def test_texts_of_one_side_are_no_doubt(tmp_path: Path) -> None:
    parts = {
        name: split(role, range(first, first + 40))
        for name, role, first in (("train", "train", 0), ("select", "select", 100), ("dev", "report", 200))
    }
    store = make_store(tmp_path / "it", parts)
    assert list(doubts_of_rows(store)) == describe(store)["doubts"] == []


def test_a_cut_that_large_groups_spoiled_is_told(tmp_path: Path) -> None:
    parts = {
        "train": split("train", range(95), groups=[0] * 92 + [1, 2, 3]),
        "select": split("select", range(100, 105), groups=range(4, 9)),
        "dev": split("report", range(200, 220)),
    }
    assert list(doubts_of_rows(make_store(tmp_path / "it", parts))) == [
        "select has 5 of 100 rows where 50 were wanted: "
        "rows of a group stay together, and the largest group has 92."
    ]


def test_windows_of_a_row_are_one_row_of_a_cut(tmp_path: Path) -> None:
    """A long row of many windows is no large group."""
    rows = ["long"] * 60 + [f"short-{number}" for number in range(20)]
    parts = {
        "train": split("train", range(80), groups=[0] * 60 + list(range(1, 21)), rows=rows),
        "select": split("select", range(100, 110)),
    }
    assert list(doubts_of_rows(make_store(tmp_path / "it", parts))) == []
