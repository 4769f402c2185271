"""The manifest as a file."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from bv_search.errors import StoreError
from bv_search.store.manifest import Baseline, Manifest
from bv_search.store.store import Store


def test_it_comes_back_as_it_was(store: Store) -> None:
    manifest = replace(
        store.manifest,
        baseline=Baseline(select={"f1": 0.1}, report={"f1": 1 / 3}, select_score=0.1, report_score=1 / 3),
    )
    assert Manifest.from_bytes(manifest.to_bytes(), "there") == manifest


def test_any_flipped_bit_is_found(store: Store) -> None:
    data = store.manifest.to_bytes()
    for place in range(0, len(data), 3):
        damaged = bytearray(data)
        damaged[place] ^= 1 << (place % 7)
        with pytest.raises(StoreError):
            Manifest.from_bytes(bytes(damaged), "there")


@pytest.mark.parametrize("kept", [0, 1, 100, -1, -2])
def test_a_truncated_one_is_refused(store: Store, kept: int) -> None:
    with pytest.raises(StoreError, match="manifest"):
        Manifest.from_bytes(store.manifest.to_bytes()[:kept], "there")


def test_one_of_another_version_is_refused_in_one_line_that_says_what_to_do(store: Store) -> None:
    value = json.loads(store.manifest.to_bytes()) | {"format_version": 1}
    del value["statistics"]
    expected = (
        r"expected format_version 2; found 1; make it again: the same `bv-search extract` with --repair$"
    )
    with pytest.raises(StoreError, match=expected):
        Manifest.from_bytes(json.dumps(value).encode(), "there")


def test_one_with_a_wrong_type_says_where(store: Store) -> None:
    value = json.loads(store.manifest.to_bytes())
    value["splits"]["train"]["blocks"][0]["size"] = "large"
    with pytest.raises(
        StoreError, match=r"splits.train.blocks\[0\].size.*expected a whole number, 0 or above; found 'large'"
    ):
        Manifest.from_bytes(json.dumps(value).encode(), "there")


@pytest.mark.parametrize("name", ["../outside", "/etc/passwd", "train/../../outside", ""])
def test_a_name_that_leaves_the_folder_is_refused(store: Store, name: str, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"secret")
    split = store.manifest.splits["train"]
    changed = replace(split, index=replace(split.index, file=name))
    manifest = replace(store.manifest, splits={"train": changed})
    with pytest.raises(StoreError, match="outside its folder"):
        _ = Store(store.folder, manifest).split("train").index


def test_a_link_that_leaves_the_folder_is_refused(store: Store, tmp_path: Path) -> None:
    outside = tmp_path / "outside.parquet"
    index = Path(store.path) / "train/index.parquet"
    index.rename(outside)
    index.symlink_to(outside)
    with pytest.raises(StoreError, match="leads out of its folder"):
        _ = store.split("train").index
