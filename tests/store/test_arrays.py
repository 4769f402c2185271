"""Hidden states from elsewhere become a store like any other."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bv_search.command import Progress
from bv_search.errors import DataError, UnknownName
from bv_search.store.store import Store
from bv_search.store.verify import verify_store
from bv_search.tasks.row import Role
from bv_search.tasks.task import Kind

ROWS, LAYERS, WIDTH = 200, 3, 8


def states(rows: int = ROWS, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(rows, LAYERS, WIDTH)).astype(np.float32)


def labels(rows: int = ROWS) -> list[int]:
    return [number % 2 for number in range(rows)]


def read(store: Store) -> dict[str, np.ndarray]:
    """hidden_LTH of every row, by its id."""
    found = {}
    for split in store.splits():
        rows = iter(split.index["row"].to_pylist())
        for block in split.blocks():
            ends = np.cumsum(block.lengths)[:-1]
            for hidden_LTH in np.split(block.hidden_LTH, ends, axis=1):
                found[next(rows)] = np.asarray(hidden_LTH)
    return found


def test_a_store_of_arrays_is_whole_and_holds_them_all(tmp_path: Path) -> None:
    hidden = states()
    store = Store.from_arrays(tmp_path / "store", hidden, labels())
    assert verify_store(store, Progress(quiet=True)).ok
    assert store.manifest.layers == ("embeddings", "layer 1", "layer 2")
    assert store.manifest.one_token
    assert store.manifest.baseline is None
    kept = read(store)
    assert sorted(kept, key=int) == [str(number) for number in range(ROWS)]
    for number, hidden_LH in enumerate(hidden):
        np.testing.assert_array_equal(kept[str(number)][:, 0], hidden_LH.astype(np.float16))
    train = np.concatenate([kept[row] for row in store.split("train").index["row"].to_pylist()], axis=1)
    np.testing.assert_allclose(store.statistics.mean_LH, train.astype(float).mean(axis=1), atol=1e-3)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_an_iterator_gives_the_same_store_as_an_array(tmp_path: Path, dtype: str) -> None:
    def one_by_one() -> Iterator[np.ndarray]:
        yield from states()

    whole = Store.from_arrays(tmp_path / "whole", states(), labels(), dtype=dtype)
    parts = Store.from_arrays(tmp_path / "parts", one_by_one(), labels(), dtype=dtype)
    assert parts.digest == whole.digest


def test_rows_of_many_tokens_may_differ_in_length(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    hidden = [rng.normal(size=(LAYERS, 1 + number % 7, WIDTH)).astype(np.float32) for number in range(ROWS)]
    store = Store.from_arrays(tmp_path / "store", hidden, labels())
    assert not store.manifest.one_token
    kept = read(store)
    for number, hidden_LTH in enumerate(hidden):
        np.testing.assert_array_equal(kept[str(number)], hidden_LTH.astype(np.float16))
    assert verify_store(store, Progress(quiet=True)).ok


def test_one_layer_needs_no_axis_of_its_own(tmp_path: Path) -> None:
    store = Store.from_arrays(tmp_path / "store", states()[:, 0], labels())
    assert store.manifest.shape == (1, WIDTH)


def test_splits_are_cut_where_nobody_says_them_and_groups_stay_together(tmp_path: Path) -> None:
    groups = [f"g{number // 4}" for number in range(ROWS)]
    store = Store.from_arrays(tmp_path / "store", states(), labels(), groups=groups)
    rows = {role: {int(row) // 4 for row in store.split(role).index["row"].to_pylist()} for role in Role}
    assert all(rows.values())
    assert sum(map(len, rows.values())) == ROWS // 4
    again = Store.from_arrays(tmp_path / "again", states(), labels(), groups=groups)
    assert again.digest == store.digest


def test_splits_are_as_they_were_said(tmp_path: Path) -> None:
    said = ["report" if number >= 150 else "train" for number in range(ROWS)]
    store = Store.from_arrays(tmp_path / "store", states(), labels(), splits=said)
    assert {int(row) for row in store.split("report").index["row"].to_pylist()} == set(range(150, ROWS))
    assert store.split("select").windows > 0


def test_labels_decide_the_task(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    names = np.array(["cat", "dog", "eel"])[rng.integers(0, 3, ROWS)]
    classes = Store.from_arrays(tmp_path / "names", states(), names, name="animals").task
    assert (classes.name, classes.labels, classes.metric) == ("animals", ("cat", "dog", "eel"), "accuracy")
    values = Store.from_arrays(tmp_path / "values", states(), rng.normal(size=ROWS)).task
    assert values.kind is Kind.REGRESSION
    named = Store.from_arrays(tmp_path / "mrpc", states(), labels(), task="mrpc").task
    assert named.name == "mrpc"


@pytest.mark.parametrize(
    ("hidden", "more", "complaint"),
    [
        (states(199), {}, "hidden states and labels differ; expected 200; found 199"),
        (states().astype(int), {}, "row 0: is no hidden state"),
        ([np.ones((LAYERS, WIDTH)), *states(199)[:, :2]], {}, "rows differ in layers or width"),
        (states(), {"splits": ["train"] * 199}, "splits and labels differ"),
        (states(), {"splits": ["test"] * ROWS}, "'test': is no split; expected train, select, report"),
        (states(), {"groups": ["one"] * ROWS}, "report cannot be cut from train"),
        (states(), {"ids": ["one"] * ROWS}, "ids are not different"),
        (states(), {"task": "squad2-span"}, "a task of spans needs texts"),
    ],
)
def test_what_cannot_be_a_store_is_refused_and_leaves_none(
    tmp_path: Path, hidden: np.ndarray, more: dict[str, object], complaint: str
) -> None:
    with pytest.raises(DataError, match=complaint):
        Store.from_arrays(tmp_path / "store", hidden, labels(), **more)  # type: ignore[arg-type]
    assert not (tmp_path / "store").exists()


def test_labels_that_a_task_does_not_have_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="row 7: has no label of the task"):
        Store.from_arrays(tmp_path / "store", states(), [0] * 7 + [2] * 193, task="mrpc")
    with pytest.raises(DataError, match="labels name no classes"):
        Store.from_arrays(tmp_path / "store", states(), [1] * ROWS)
    with pytest.raises(DataError, match="labels are of several types; expected names, or numbers"):
        Store.from_arrays(tmp_path / "store", states(), [None, *labels()[1:]])
    with pytest.raises(DataError, match="name"):
        Store.from_arrays(tmp_path / "store", states(), labels(), name="my task")
    assert not (tmp_path / "store").exists()
    with pytest.raises(UnknownName):
        Store.from_arrays(tmp_path / "store", states(), labels(), dtype="float32")
