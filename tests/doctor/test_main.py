"""The command says what a machine offers on one screen, and to a program."""

import json
from pathlib import Path

import pytest

from bv_search.command import main
from bv_search.doctor.__main__ import COMMAND


def test_one_screen_says_it_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(COMMAND, ["--runs", str(tmp_path / "runs")]) in (0, 2)
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 24
    for word in ("processor", "cores", "memory", "GPUs", "disk", "ray", "mlflow", "proxies", "chosen"):
        assert f"\n{word} " in f"\n{text}"


def test_a_program_gets_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(COMMAND, ["--runs", str(tmp_path), "--json"])
    said = json.loads(capsys.readouterr().out)
    assert set(said) == {"machine", "services", "proxies", "folders", "choices", "complaints", "ok"}
    assert said["machine"]["cores"] >= 1
    assert said["machine"]["memory"] > said["machine"]["memory_free"] > 0
    assert [each["name"] for each in said["services"]] == ["ray", "mlflow"]
    assert said["choices"]["scan_workers"] >= 1
    assert said["ok"] == (not said["complaints"])
