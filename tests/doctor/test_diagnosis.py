"""What stands in the way of a verb is a complaint, whoever does not answer."""

import json
import socket
from pathlib import Path

import pytest

from bv_search.doctor import diagnosis
from bv_search.doctor.diagnosis import diagnose


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
