"""What the system tells of the machine."""

from pathlib import Path
from typing import Any

import pytest

from bv_search.doctor import machine


def test_a_system_without_its_files_is_told_of_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("CPU_FACTS", "MEMORY_FACTS"):
        monkeypatch.setattr(machine, name, tmp_path / "none")
    found: Any = machine.look(tmp_path)
    assert found.features == ()
    assert found.memory == 0


def test_the_first_of_several_processors_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu").write_text(
        "model name\t: First\nflags\t\t: fpu avx2 amx_tile\n\nmodel name\t: Second\nflags\t\t: avx512f\n"
    )
    (tmp_path / "memory").write_text("MemTotal:  2048 kB\nMemFree:  1 kB\nMemAvailable:  1024 kB\n")
    monkeypatch.setattr(machine, "CPU_FACTS", tmp_path / "cpu")
    monkeypatch.setattr(machine, "MEMORY_FACTS", tmp_path / "memory")
    found = machine.look(tmp_path)
    assert (found.cpu, found.features) == ("First", ("avx2", "amx_tile"))
    assert (found.memory, found.memory_free) == (2048 * 1024, 1024 * 1024)


def test_the_disk_of_a_folder_that_is_to_be_made_is_the_one_above_it(tmp_path: Path) -> None:
    found = machine.look(tmp_path / "runs" / "of" / "mine")
    assert found.runs == str(tmp_path / "runs" / "of" / "mine")
    assert found.disk_free > 0
    assert not (tmp_path / "runs").exists()
