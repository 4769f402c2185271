"""What is said of a store before heads are scored on it."""

from pathlib import Path

from bv_search.scan.store_view import doubts
from tests.stores import make_class_store


def test_scores_on_rows_that_the_encoder_was_trained_on_are_doubted(tmp_path: Path) -> None:
    found = doubts(make_class_store(tmp_path / "it", seen={"train": 150, "select": 3, "dev": 64}))
    assert [line.partition(":")[0] for line in found] == [
        "The encoder was fine-tuned on 3 of the 48 windows of select",
        "The encoder was fine-tuned on 64 of the 64 windows of report",
    ]


def test_training_rows_may_be_known(tmp_path: Path) -> None:
    assert doubts(make_class_store(tmp_path / "it", seen={"train": 200})) == []
