"""The Hub's library is real; it reads a local folder in the Hub's form, or a network that is not there."""

import os
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bv_search.errors import DataError
from bv_search.tasks import TASKS, Role, load_dataset


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


CARD = """---
configs:
- config_name: default
  data_files:
  - {split: train, path: train-*}
  - {split: validation_matched, path: validation_matched-*}
  - {split: validation_mismatched, path: validation_mismatched-*}
---
"""


def write(path: Path, **columns: list[object]) -> None:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), path)


def test_glue_in_the_hubs_form_becomes_the_same_roles(tmp_path: Path) -> None:
    hub = tmp_path / "hub"
    for name, rows in (("train", 30), ("validation_matched", 4), ("validation_mismatched", 3)):
        write(
            hub / f"{name}-00000-of-00001.parquet",
            premise=[f"premise {n}" for n in range(rows)],
            hypothesis=["hypothesis"] * rows,
            label=[n % 3 for n in range(rows)],
            idx=list(range(rows)),
        )
    (hub / "README.md").write_text(CARD, encoding="utf-8")
    layout = replace(TASKS["mnli"].layout, hub=str(hub), config=None)
    data = load_dataset(replace(TASKS["mnli"], layout=layout))
    assert [(split.name, split.role, len(split.rows)) for split in data.splits] == [
        ("train", Role.TRAIN, 15),
        ("select", Role.SELECT, 15),
        ("dev_matched", Role.REPORT, 4),
        ("dev_mismatched", Role.REPORT, 3),
    ]
    last = data.rows(Role.REPORT)[-1]
    assert (last.id, last.text_a, last.text_b, last.label) == (
        "dev_mismatched-2", "premise 2", "hypothesis", 2.0,
    )  # fmt: skip


def test_data_of_another_form_are_one_line(tmp_path: Path) -> None:
    write(tmp_path / "hub" / "train.parquet", body=["a"], stars=[1])
    layout = replace(TASKS["sst2"].layout, hub=str(tmp_path / "hub"), config=None)
    with pytest.raises(DataError) as caught:
        load_dataset(replace(TASKS["sst2"], layout=layout))
    assert str(caught.value) == (
        f"{tmp_path / 'hub'} train: lacks columns of the task; expected 'sentence', 'label' for sst2; "
        "found the columns 'body', 'stars'"
    )


@pytest.mark.parametrize(
    ("task", "hub", "form"),
    [
        ("squad2-span", "rajpurkar/squad_v2", "train*.json and dev*.json as SQuAD publishes them"),
        (
            "mnli",
            "nyu-mll/glue",
            "train.tsv and dev_matched.tsv and dev_mismatched.tsv as GLUE publishes them",
        ),
    ],
)
def test_without_a_network_one_line_says_what_to_give_instead(task: str, hub: str, form: str) -> None:
    with pytest.raises(DataError) as caught:
        load_dataset(TASKS[task])
    line = str(caught.value)
    assert "\n" not in line
    assert line.startswith(f"{hub}: the data of {task} cannot be had from the Hub; found ")
    assert line.endswith(
        f"; give a local copy: --data FOLDER with {form}, or the same in parquet, csv or jsonl"
    )


def test_a_network_that_is_down_is_not_waited_for(tmp_path: Path) -> None:
    """The library alone would retry for 23 seconds, and say so on standard error."""
    code = "from bv_search.tasks import TASKS, load_dataset; load_dataset(TASKS['rte'])"
    offline = (
        "HF_HUB_OFFLINE",
        "HF_DATASETS_OFFLINE",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    )
    environment = {name: value for name, value in os.environ.items() if name not in offline}
    environment |= {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    before = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert "the data of rte cannot be had from the Hub" in done.stderr
    assert "Retrying" not in done.stderr
    assert time.monotonic() - before < 15
