"""What every folder promises, local or behind a file system of fsspec."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from bv_search.errors import OutputError, StoreError
from bv_search.files import digest_bytes
from bv_search.store.folder import Folder, LocalFolder, damage, open_folder
from tests.failing_disk import FailingDisk


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Folder]:
    if request.param == "local":
        yield open_folder(tmp_path / "place")
        return
    place = open_folder(f"memory://{uuid.uuid4().hex}/place")
    yield place
    for name in place.top():
        place.delete(name)


def test_what_is_written_is_read(folder: Folder) -> None:
    assert not folder.present()
    folder.write("a/b.bin", b"one")
    folder.write("a/b.bin", b"two")
    assert folder.read("a/b.bin") == b"two"
    assert (folder.size("a/b.bin"), folder.size("a/c.bin")) == (3, None)
    assert folder.names() == folder.names("a") == ["a/b.bin"]
    assert folder.top() == ["a"]
    assert folder.present()


def test_creating_twice_is_refused_and_changes_nothing(folder: Folder) -> None:
    folder.create("manifest.json", b"first")
    with pytest.raises(FileExistsError):
        folder.create("manifest.json", b"second")
    assert folder.read("manifest.json") == b"first"
    assert folder.names() == ["manifest.json"]


def test_what_is_deleted_is_gone_and_deleting_it_again_is_fine(folder: Folder) -> None:
    folder.write("a/b", b"x")
    folder.write("a/c/d", b"y")
    folder.delete("a/b")
    assert folder.names() == ["a/c/d"]
    folder.delete("a")
    folder.delete("a")
    assert folder.names() == []


def test_a_part_is_absent_until_it_is_committed(folder: Folder) -> None:
    data = bytes(range(200))
    pieces = [(100, memoryview(data)[100:]), (0, memoryview(data)[:100])]
    with folder.begin("blocks/0", len(data)) as part:
        part.put(pieces[:1])
        part.put(pieces[1:])
        assert not folder.exists("blocks/0")
        part.commit([memoryview(data)])
    assert folder.read("blocks/0") == data
    with folder.begin("blocks/1", len(data)) as part:
        part.put(pieces)
    assert folder.names() == ["blocks/0"]


def test_a_local_copy_has_the_same_bytes(folder: Folder) -> None:
    folder.write("x", b"bytes")
    assert folder.local("x", digest_bytes(b"bytes")).read_bytes() == b"bytes"


def test_readers_of_one_machine_share_one_copy(folder: Folder) -> None:
    folder.write("x", b"shared")
    digest = digest_bytes(b"shared")
    assert folder.local("x", digest) == folder.local("x", digest)


def test_a_damaged_copy_is_fetched_anew(cache_folder: Path) -> None:
    url, data = f"memory://{uuid.uuid4().hex}", uuid.uuid4().bytes
    open_folder(url).write("x", data)
    copy = open_folder(url).local("x", digest_bytes(data))
    assert copy.is_relative_to(cache_folder)
    copy.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    assert open_folder(url).local("x", digest_bytes(data)).read_bytes() == data


def test_a_copy_of_what_is_damaged_in_its_place_is_refused() -> None:
    folder, digest = open_folder(f"memory://{uuid.uuid4().hex}"), digest_bytes(uuid.uuid4().bytes)
    folder.write("x", b"damaged")
    for _ in range(2):
        with pytest.raises(StoreError, match=r"/x: is damaged.*--repair"):
            folder.local("x", digest)


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x", "a\\b", ""])
def test_a_name_outside_is_refused(folder: Folder, name: str) -> None:
    with pytest.raises(StoreError, match="outside its folder"):
        folder.read(name)


def test_damage_says_what_is_there_instead(folder: Folder) -> None:
    digest = digest_bytes(b"abc")
    assert damage(folder, "x", 3, digest) == "no file"
    folder.write("x", b"abcd")
    assert damage(folder, "x", 3, digest) == "4 bytes"
    folder.write("x", b"abd")
    assert damage(folder, "x", 3, digest) == digest_bytes(b"abd")
    folder.write("x", b"abc")
    assert damage(folder, "x", 3, digest) is None


def test_an_unknown_file_system_says_what_to_install() -> None:
    with pytest.raises(StoreError, match=r"nosuch://x.*install"):
        open_folder("nosuch://x")


def test_a_full_disk_is_one_clear_line_and_leaves_nothing(tmp_path: Path) -> None:
    for at in range(4):
        folder = LocalFolder(tmp_path, FailingDisk(at))
        with pytest.raises(OutputError, match=r"cannot be written; found No space left.*free space"):
            folder.write("x", b"12345678")
        assert folder.names() in ([], ["x"])
        assert not folder.exists("x") or (at == 3 and folder.read("x") == b"12345678")


def test_a_part_that_the_disk_has_no_room_for_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        LocalFolder(tmp_path).begin("x", 1 << 60)
    assert list(tmp_path.iterdir()) == []
