"""Heads in packs beside heads one after another."""

import json
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.command import main
from tests.stores import make_class_store, make_span_store


def test_packs_are_compared_with_heads_one_after_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("h5py")
    store = make_span_store(tmp_path / "store", windows=64)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    options = ["--store", store.path, "--heads", "2", "--windows", "32", "--rounds", "1"]
    assert main(COMMAND, ["scan", *options, "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert all(arm.get("head-windows_per_second", 1) > 0 for arm in said["arms"].values())
    assert said["ratios"]["adapters: pack / adapters: source work's way"] > 0
    assert list((tmp_path / "here").iterdir()) == []


def test_packs_are_compared_with_a_plain_loop_where_windows_are_one_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_class_store(tmp_path / "store")
    assert (
        main(COMMAND, ["scan", "--store", store.path, "--heads", "2", "--rounds", "1", "--json", "--quiet"])
        == 0
    )
    said = json.loads(capsys.readouterr().out)
    arms = {name: arm for name, arm in said["arms"].items() if not name.startswith("roof")}
    assert all(arm["head-passes_per_second"] > 0 for arm in arms.values())
    assert said["ratios"]["classification: pack / plain PyTorch loop"] > 0
    assert said["ratios"]["poolings and linear: pack / plain PyTorch loop"] > 0


def test_a_store_of_another_task_is_not_scanned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = make_class_store(tmp_path / "store", tokens=12)
    assert main(COMMAND, ["scan", "--store", store.path]) == 2
    assert (
        "expected hidden states of a span task, or of one token a window; found mrpc"
        in capsys.readouterr().err
    )
