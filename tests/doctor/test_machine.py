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
