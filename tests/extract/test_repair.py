"""Repair redoes what is damaged, and no more."""

from pathlib import Path

import pytest

from bv_search.store.layout import BlockLimits
from tests.extract.conftest import Extract, contents, damage_file


@pytest.mark.parametrize(
    ("files", "encoded"),
    [
        (["train/blocks/00001.npy"], 1),
        (["train/blocks/00000.npy", "dev/blocks/00001.npy"], 2),
        (["select/index.parquet"], 0),
        (["dev/encoder.parquet"], 2),
        (["statistics.safetensors"], 0),
        (["statistics.safetensors", "train/blocks/00001.npy", "train/index.parquet"], 1),
        (["manifest.json"], 8),
    ],
)
def test_repair_redoes_what_is_damaged_and_no_more(
    extract: Extract, tmp_path: Path, files: list[str], encoded: int
) -> None:
    extract()
    whole = contents(tmp_path / "store")
    for file in files:
        damage_file(tmp_path / "store" / file)
    assert extract(repair=True).encoded_blocks == encoded
    assert contents(tmp_path / "store") == whole


def test_repair_keeps_the_blocks_as_they_were_cut(extract: Extract, tmp_path: Path) -> None:
    extract()
    whole = contents(tmp_path / "store")
    damage_file(tmp_path / "store/train/blocks/00001.npy")
    damage_file(tmp_path / "store/train/index.parquet")
    assert extract(repair=True, limits=BlockLimits()).encoded_blocks == 1
    assert contents(tmp_path / "store") == whole


def test_repair_of_a_whole_store_changes_nothing(extract: Extract, tmp_path: Path) -> None:
    extract()
    whole = contents(tmp_path / "store")
    assert extract(repair=True).encoded_blocks == 0
    assert contents(tmp_path / "store") == whole


def test_a_missing_block_is_damage_too(extract: Extract, tmp_path: Path) -> None:
    extract()
    whole = contents(tmp_path / "store")
    (tmp_path / "store/train/blocks/00002.npy").unlink()
    assert extract(repair=True).encoded_blocks == 1
    assert contents(tmp_path / "store") == whole
