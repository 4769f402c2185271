from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.errors import OutputError
from bv_search.finetune.config import FinetuneConfig
from bv_search.finetune.stage_folder import check_output, stages_locked
from tests.no_locks import refused_without_locks

Configure = Callable[..., FinetuneConfig]


def test_an_absent_or_empty_place_is_fine(tmp_path: Path) -> None:
    check_output(tmp_path / "new" / "stages")
    check_output(tmp_path)


def test_a_folder_with_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(OutputError, match=r"holds something else.*found thesis.tex; choose another --out"):
        check_output(tmp_path)


def test_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "stages").touch()
    with pytest.raises(OutputError, match="is a file"):
        check_output(tmp_path / "stages")


def test_two_writers_do_not_meet(tmp_path: Path) -> None:
    with (
        stages_locked(tmp_path),
        pytest.raises(OutputError, match="written by another"),
        stages_locked(tmp_path),
    ):
        pass


def test_what_a_killed_writer_left_is_removed(tmp_path: Path) -> None:
    half = tmp_path / ".0.3.123.part"
    half.mkdir()
    (half / "model.safetensors").touch()
    with stages_locked(tmp_path):
        assert not half.exists()


def test_a_place_that_cannot_be_written_is_refused() -> None:
    with pytest.raises(OutputError, match="cannot be written"), stages_locked(Path("/proc/stages")):
        pass


def test_a_disk_that_knows_no_locks_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused_without_locks(monkeypatch), stages_locked(tmp_path):
        pass
