"""Only files are read."""

import os
from pathlib import Path

import pytest

from bv_search.document import read_plain
from bv_search.errors import DataError


def test_a_file_is_read_and_a_link_to_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    (tmp_path / "b").symlink_to("a")
    assert read_plain(tmp_path / "b", DataError, limit=3) == b"abc"
    with pytest.raises(DataError, match="a: is too large; expected at most 2 bytes; found 3"):
        read_plain(tmp_path / "a", DataError, limit=2)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("pipe", "is no file; expected a file; found a pipe"),
        ("zero", "is no file; expected a file; found a device"),
        ("folder", "is no file; expected a file; found a folder"),
        ("circle", "cannot be read; found Too many levels of symbolic links"),
        ("absent", "does not exist"),
        ("a\0b", "is no name of a file"),
    ],
)
def test_nothing_else_is_opened(name: str, says: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "zero").symlink_to("/dev/zero")
    (tmp_path / "folder").mkdir()
    (tmp_path / "circle").symlink_to("circle")
    with pytest.raises(DataError, match=says):
        read_plain(tmp_path / name, DataError)
