"""A lock that one process holds at a time."""

import os
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from bv_search.errors import OutputError, RunError
from bv_search.run.lock import exclusive
from tests.full_disk import no_room
from tests.no_locks import refused_without_locks


def test_the_second_is_told_who_holds_it(tmp_path: Path) -> None:
    with (
        exclusive(tmp_path / "lock"),
        pytest.raises(RunError, match=f"found process {os.getpid()};"),
        exclusive(tmp_path / "lock"),
    ):
        pass


def test_who_waits_is_let_in_or_told_in_the_end(tmp_path: Path) -> None:
    with exclusive(tmp_path / "lock"):
        begun = time.monotonic()
        with pytest.raises(RunError, match="someone else"), exclusive(tmp_path / "lock", wait=0.3):
            pass
        assert 0.3 <= time.monotonic() - begun < 10
    with ExitStack() as held:
        held.enter_context(exclusive(tmp_path / "lock"))
        threading.Timer(0.2, held.pop_all().close).start()
    with exclusive(tmp_path / "lock", wait=60):
        pass


def test_without_room_for_its_holder_it_is_one_clear_line_and_free_again(tmp_path: Path) -> None:
    with (
        no_room(),
        pytest.raises(OutputError, match="lock: cannot be written"),
        exclusive(tmp_path / "lock"),
    ):
        pass
    with exclusive(tmp_path / "lock"):
        pass


def test_a_disk_that_knows_no_locks_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused_without_locks(monkeypatch), exclusive(tmp_path / "lock"):
        pass
