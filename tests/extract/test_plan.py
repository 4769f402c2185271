"""Windows stand in a seeded order before the first is encoded."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.errors import StoreError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.job import ExtractInputs
from bv_search.extract.plan import Plan, SplitPlan, read_plan, survey_data
from bv_search.store.layout import BlockPlan, seeded_order
from bv_search.store.manifest import FileEntry
from bv_search.store.store import Store
from bv_search.tasks.dataset import load_dataset
from bv_search.tasks.registry import find_task
from bv_search.tasks.task import Placement
from tests.extract.conftest import DEV_ROWS, TRAIN_ROWS, Extract, write_pairs


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


def test_the_data_are_surveyed_split_by_split(config: Callable[..., ExtractConfig]) -> None:
    asked = config()
    inputs = ExtractInputs(task=find_task("mrpc").to_json(), encoder=asked.encoder, data=asked.data)
    facts = survey_data(inputs)
    assert facts.names == ["train", "select", "dev"]
    assert [each.role for each in facts.splits] == ["train", "select", "report"]
    assert sum(each.rows for each in facts.splits) == TRAIN_ROWS + DEV_ROWS
    assert facts.digest == load_dataset(find_task("mrpc"), asked.data).digest


def plan_of(blocks: int) -> Plan:
    cut = tuple(
        BlockPlan(number=number, first=16 * number, windows=16, tokens=16, encoded=99)
        for number in range(blocks)
    )
    index = FileEntry(file="train/index.parquet", size=5, digest="xxh3:" + "0" * 32)
    placement = Placement(answers=7, lost=blocks)
    split = SplitPlan(role="train", index=index, blocks=cut, encoded_tokens=99, placement=placement)
    return Plan(settings={"seed": 0}, splits={"train": split, "more": split})


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = plan_of(2)
    assert read_plan(json.loads(json.dumps(plan.to_json())), "here") == plan
    assert [(task.split, task.number) for task in plan.tasks()] == [
        ("train", 0),
        ("train", 1),
        ("more", 0),
        ("more", 1),
    ]
    assert plan.placement == Placement(answers=14, lost=4)


def test_a_plan_that_is_damaged_is_named_with_the_place() -> None:
    value = json.loads(json.dumps(plan_of(1).to_json()))
    value["splits"]["train"]["blocks"][0]["windows"] = "many"
    with pytest.raises(StoreError, match=r"here: is damaged; .*splits\.train\.blocks\[0\]\.windows"):
        read_plan(value, "here")


def test_data_that_were_changed_are_read_anew(config: Callable[..., ExtractConfig], tmp_path: Path) -> None:
    write_pairs(tmp_path)
    inputs = ExtractInputs(task=find_task("mrpc").to_json(), encoder=config().encoder, data=str(tmp_path))
    before = survey_data(inputs)
    train = tmp_path / "train.tsv"
    train.write_text("".join(train.read_text().splitlines(keepends=True)[:-1]))
    assert survey_data(inputs).digest != before.digest
