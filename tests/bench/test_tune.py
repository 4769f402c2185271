"""Whole searches, by how many heads learn together."""

import json
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.command import main
from tests.stores import make_span_store


@pytest.mark.slow
def test_whole_searches_are_compared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store = make_span_store(tmp_path / "store", windows=64)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    options = ["--store", store.path, "--heads", "2", "--rounds", "1"]
    assert main(COMMAND, ["tune", *options, "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["ratios"]["pack 2 / pack 1"] > 0
    assert all(arm["heads"] == 2 and arm["peak_bytes"] > 0 for arm in said["arms"].values())
    assert list((tmp_path / "here").iterdir()) == []
