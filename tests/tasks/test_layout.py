"""Where a task's rows stand in files."""

from pathlib import Path

from bv_search.tasks import TASKS, read_rows
from tests.tasks.data_files import write_jsonl


def test_a_table_may_have_the_hubs_names_or_the_official_ones(tmp_path: Path) -> None:
    for name, target in (("hub", "label"), ("official", "score")):
        values: dict[str, list[object]] = {"sentence1": ["a"], "sentence2": ["b"], target: [3.5]}
        write_jsonl(tmp_path / f"{name}.jsonl", values)
        assert read_rows(TASKS["stsb"], tmp_path / f"{name}.jsonl")[0].label == 3.5
