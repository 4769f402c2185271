"""What a store says of itself."""

from pathlib import Path

import pytest

from bv_search.errors import StoreError
from bv_search.store.info import describe, render, scan_rate
from bv_search.store.store import Store
from tests.stores import make_class_store


def test_a_block_that_is_missing_is_said(tmp_path: Path) -> None:
    make_class_store(tmp_path / "it")
    (tmp_path / "it/train/blocks/00000.npy").unlink()
    with pytest.raises(StoreError, match=r"00000\.npy: is missing"):
        scan_rate(Store.open(str(tmp_path / "it"), verify=False))


def test_windows_that_the_encoder_was_trained_on_are_counted(tmp_path: Path) -> None:
    info = describe(make_class_store(tmp_path / "it", seen={"train": 150, "select": 3}))
    assert {name: split["seen"] for name, split in info["splits"].items()} == {
        "train": 150,
        "select": 3,
        "dev": 0,
    }
    assert render(info).count("fine-tuned on") == 2
