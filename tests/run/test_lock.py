"""A lock that one process holds at a time."""

import os
from pathlib import Path

import pytest

from bv_search.errors import OutputError, RunError
from bv_search.run.lock import exclusive
from tests.full_disk import no_room


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    with (
        exclusive(tmp_path / "lock", wait=False),
        pytest.raises(RunError, match=f"found process {os.getpid()};"),
        exclusive(tmp_path / "lock", wait=False),
    ):
        pass


def test_without_room_for_its_holder_it_is_one_clear_line_and_free_again(tmp_path: Path) -> None:
    with (
        no_room(),
        pytest.raises(OutputError, match="lock: cannot be written"),
        exclusive(tmp_path / "lock"),
    ):
        pass
    with exclusive(tmp_path / "lock", wait=False):
        pass
