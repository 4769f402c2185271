"""What a machine offers is said on one screen, within seconds, whoever does not answer."""

import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bv_search.command import main
from bv_search.doctor import diagnosis, machine, services
from bv_search.doctor.__main__ import COMMAND
from bv_search.doctor.diagnosis import diagnose
from bv_search.doctor.services import SECONDS


@pytest.fixture
def silent() -> Iterator[str]:
    """A port that accepts, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


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


def test_whoever_never_answers_is_named_within_seconds(
    silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", silent)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://{silent}")
    began = time.monotonic()
    found = services.look(tmp_path)
    assert time.monotonic() - began < 10
    assert [each.trouble for each in found] == [f"no answer within {SECONDS:g} s"] * 2


def test_a_closed_port_is_a_complaint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    monkeypatch.setenv("RAY_ADDRESS", f"127.0.0.1:{port}")
    found = diagnose(tmp_path)
    assert not found.ok
    assert any(line.startswith("ray is not to be had: ") for line in found.complaints)
    assert f"127.0.0.1:{port}: does not answer" in str(found)


def test_passwords_in_addresses_are_not_shown(
    silent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://me:xyzzy@proxy.example:3128")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://me:xyzzy@{silent}")
    said = json.dumps(diagnose(tmp_path).to_json()) + str(diagnose(tmp_path))
    assert "proxy.example:3128" in said
    assert silent in said
    assert "xyzzy" not in said


def test_a_home_that_cannot_be_written_is_a_complaint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setenv("HOME", str(tmp_path / "file" / "home"))
    assert any("cannot be written: name another by HOME" in line for line in diagnose(tmp_path).complaints)


def test_a_little_disk_and_memory_are_complaints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis, "LOW_DISK", 1e18)
    monkeypatch.setattr(diagnosis, "LOW_MEMORY", 1e18)
    complaints = " ".join(diagnose(tmp_path).complaints)
    assert "of disk are little" in complaints
    assert "of memory are little" in complaints


def test_a_system_without_its_files_is_told_of_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CPU_FACTS", "MEMORY_FACTS"):
        monkeypatch.setattr(machine, name, tmp_path / "none")
    found: Any = machine.look(tmp_path)
    assert found.features == ()
    assert found.memory == 0
