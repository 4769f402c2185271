"""Windows stand in a seeded order before the first is encoded."""

from pathlib import Path

from bv_search.store.layout import seeded_order
from bv_search.store.store import Store
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from tests.extract.conftest import Extract


def test_windows_stand_in_the_seeded_order_with_role_and_seen(extract: Extract, pairs: Path) -> None:
    store = Store.open(extract(seed=7).store)
    rows = load_dataset(find_task("mrpc"), str(pairs)).split("train").rows
    order = seeded_order(len(rows), 7, "train")
    index = store.split("train").index
    assert index["row"].to_pylist() == [rows[number].id for number in order]
    seen = index["seen"].to_numpy()
    assert [bool(each) for each in seen] == [bool(number < 10) for number in order]
    assert {name: split.role for name, split in store.manifest.splits.items()} == {
        "train": "train",
        "select": "select",
        "dev": "report",
    }
