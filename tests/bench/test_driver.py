"""What a search takes beside its scan workers is measured by workers that learn nothing."""

import json
from pathlib import Path

import pytest

from bv_search.bench.__main__ import COMMAND
from bv_search.command import main


@pytest.mark.slow
def test_the_driver_is_measured_on_real_trials(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    options = ["--trials", "40", "--workers", "4", "--heads", "4", "--json", "--quiet"]
    assert main(COMMAND, ["driver", *options]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["trials"], said["workers"]) == (40, 4)
    assert sum(said["parts"].values()) == pytest.approx(said["seconds_a_trial"], rel=0.01)
    assert said["memory"]
    assert list(tmp_path.iterdir()) == []
