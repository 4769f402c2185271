"""A file in the making is absent until it is whole."""

from pathlib import Path

import pytest

from bv_search.errors import OutputError
from bv_search.files import DISK, Disk, part_of
from bv_search.store.pending_file import PendingLocalFile
from tests.failing_disk import FailingDisk

WHOLE = memoryview(bytes(range(64)))


def test_pieces_may_come_in_any_order(tmp_path: Path) -> None:
    path = tmp_path / "new" / "block"
    with PendingLocalFile(path, len(WHOLE), DISK) as pending:
        pending.put([(40, WHOLE[40:]), (0, WHOLE[:10])])
        assert not path.exists()
        pending.put([(10, WHOLE[10:40])])
        pending.commit([WHOLE])
        assert path.read_bytes() == bytes(WHOLE)
    assert list(path.parent.iterdir()) == [path]


def test_what_is_abandoned_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "block"
    with PendingLocalFile(path, len(WHOLE), DISK) as pending:
        pending.put([(0, WHOLE)])
        assert part_of(path).exists()
    assert not list(tmp_path.iterdir())


def test_a_file_with_a_gap_is_never_committed(tmp_path: Path) -> None:
    path = tmp_path / "block"
    with PendingLocalFile(path, len(WHOLE), DISK) as pending:
        pending.put([(0, WHOLE[:63])])
        with pytest.raises(AssertionError, match="every byte of a block is put exactly once"):
            pending.commit([WHOLE])
    assert not list(tmp_path.iterdir())


def test_a_failure_at_any_call_is_told_and_leaves_no_half_file(tmp_path: Path) -> None:
    def write(path: Path, disk: Disk) -> None:
        with PendingLocalFile(path, len(WHOLE), disk) as pending:
            pending.put([(0, WHOLE[:10])])
            pending.put([(10, WHOLE[10:])])
            pending.commit([WHOLE])

    counting, path = FailingDisk(), tmp_path / "block"
    write(path, counting)
    assert counting.calls > 5
    for at in range(counting.calls):
        path.write_bytes(b"before")
        with pytest.raises(OutputError, match="block: cannot be written; found No space left"):
            write(path, FailingDisk(at))
        is_last = at == counting.calls - 1  # the new name stands, and only the folder may not know it yet
        assert path.read_bytes() == (bytes(WHOLE) if is_last else b"before")
        assert list(tmp_path.iterdir()) == [path]


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OutputError, match="file/block") as caught:
        PendingLocalFile(tmp_path / "file" / "block", 10, DISK)
    assert "\n" not in str(caught.value)


def test_a_file_that_there_is_no_room_for_is_refused_at_once_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="block: cannot be written"):
        PendingLocalFile(tmp_path / "block", 1 << 60, DISK)
    assert not list(tmp_path.iterdir())
