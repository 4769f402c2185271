"""Files that are whole or absent."""

import json
import os
from pathlib import Path

import pytest

from bv_search.errors import DataError, OutputError
from bv_search.files import (
    confine,
    digest_bytes,
    digest_file,
    digest_json,
    folder_being_made,
    read_json,
    together,
    write_atomic,
    write_json,
    write_text,
)
from tests.failing_disk import FailingDisk


def test_what_is_written_is_read_and_nothing_else_is_left(tmp_path: Path) -> None:
    write_json(tmp_path / "a/b.json", {"x": [1, 2.5, "ü"]})
    write_text(tmp_path / "a/b.txt", "ü")
    assert read_json(tmp_path / "a/b.json", DataError) == {"x": [1, 2.5, "ü"]}
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["b.json", "b.txt"]


def test_folders_of_files_that_count_together_are_synced_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bool] = []  # whether it is a folder
    sync = os.fsync

    def note(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").is_dir())
        sync(handle)

    monkeypatch.setattr(os, "fsync", note)
    with together() as disk:
        for name in ("a/1", "a/2", "b/1"):
            write_json(tmp_path / name, name, disk)
        assert synced == [False] * 3
    assert synced == [False] * 3 + [True] * 2


@pytest.mark.parametrize("at", range(4))
def test_a_failing_disk_leaves_the_old_file_or_the_new_one(tmp_path: Path, at: int) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(OutputError, match=r"file: cannot be written; found No space left on device"):
        write_atomic(path, lambda file: file.write(b"new one"), FailingDisk(at))
    assert path.read_bytes() == (b"new one" if at == 3 else b"old")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_place_that_cannot_be_written_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match="cannot be written"):
        write_text(tmp_path / "file" / "below", "x")


@pytest.mark.parametrize("place", ["file/below", "x" * 300, "/proc/made", "/sys/made"])
def test_a_folder_that_cannot_be_made_is_one_clear_line(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(OutputError, match="cannot be written"), folder_being_made(tmp_path / place):
        pass


def test_a_folder_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    def fail() -> None:
        with folder_being_made(tmp_path / "made") as part:
            (part / "x").write_text("x")
            raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        fail()
    assert list(tmp_path.iterdir()) == []
    with folder_being_made(tmp_path / "made") as part:
        (part / "x").write_text("x")
    assert [path.name for path in tmp_path.rglob("*")] == ["made", "x"]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"{", "is damaged"),
        (b"[]", "expected a JSON object"),
        (b'{"a": "\xff"}', "is not UTF-8; found byte 7"),
    ],
)
def test_what_is_no_json_object_is_said_in_one_line(tmp_path: Path, data: bytes, said: str) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(data)
    with pytest.raises(DataError, match=said):
        read_json(path, DataError)
    with pytest.raises(DataError, match="does not exist"):
        read_json(tmp_path / "y.json", DataError)


def test_digests_are_of_contents_alone(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"abc" * 1_000_000)
    assert digest_file(path) == digest_bytes(b"abc" * 1_000_000)
    one, two = {"a": 1, "b": [2]}, {"b": [2], "a": 1}
    assert digest_json(one) == digest_json(two) != digest_json({**one, "a": 2})
    assert json.dumps(one) != json.dumps(two)


@pytest.mark.parametrize("name", ["..", "a/../../b", "/etc/passwd", "", "a\\..\\b"])
def test_a_name_outside_its_folder_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="outside its folder"):
        confine(tmp_path, name, DataError)
    assert confine(tmp_path, "a/b.npy", DataError) == tmp_path / "a" / "b.npy"
