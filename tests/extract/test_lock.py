"""A place that one extraction holds at a time."""

import json
import time
import uuid
from pathlib import Path

import pytest

from bv_search import holder as module
from bv_search.errors import OutputError
from bv_search.extract.lock import HOLD, hold
from bv_search.store.folder import LocalFolder, RemoteFolder
from tests.full_disk import no_room
from tests.no_locks import refused_without_locks


def test_without_room_for_its_card_it_is_one_clear_line_and_free_again(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    with no_room(), pytest.raises(OutputError, match=r"\.extract\.lock: cannot be written"), hold(folder):
        pass
    assert folder.names() == []
    with hold(folder):
        pass


def test_a_network_that_fails_for_a_moment_does_not_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing(RemoteFolder):
        failures = 0

        def write(self, name: str, data: bytes | memoryview) -> None:
            if self.failures < 2:
                self.failures += 1
                raise OutputError("cannot be reached", where=self.url)
            super().write(name, data)

    monkeypatch.setattr(module, "BEAT_SECONDS", 0.01)
    folder = Failing(f"memory://{uuid.uuid4().hex}")
    with hold(folder):
        taken, deadline = json.loads(folder.read(HOLD))["at"], time.monotonic() + 10
        while json.loads(folder.read(HOLD))["at"] == taken and time.monotonic() < deadline:
            time.sleep(0.01)
        assert json.loads(folder.read(HOLD))["at"] > taken


def test_a_card_that_cannot_be_read_for_a_moment_is_not_taken_for_none() -> None:
    class Failing(RemoteFolder):
        reads = 0

        def read(self, name: str) -> bytes:
            self.reads += 1
            if self.reads == 2:
                raise OutputError("cannot be reached", where=self.url)
            return super().read(name)

    url = f"memory://{uuid.uuid4().hex}"
    with hold(RemoteFolder(url)):
        with pytest.raises(OutputError, match="cannot be reached"), hold(Failing(url)):
            pass
        assert RemoteFolder(url).names() == [HOLD]


def test_a_disk_that_knows_no_locks_is_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with refused_without_locks(monkeypatch), hold(LocalFolder(tmp_path)):
        pass
