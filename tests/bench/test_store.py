"""Reading a store beside reading its bytes otherwise."""

import json
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.command import main


def test_reading_is_compared_with_pread_and_hdf5(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("h5py")
    monkeypatch.chdir(tmp_path)
    assert main(COMMAND, ["store", "--amount", "48MiB", "--rounds", "3", "--json", "--quiet"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["ratios"]["scan / HDF5 in random batches"] > 0
    assert said["ratios"]["time of one layer / time of all"] > 0
    assert list(tmp_path.iterdir()) == []
