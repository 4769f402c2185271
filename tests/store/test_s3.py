"""A store in object storage: over HTTP against a local S3 server."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from bv_search.errors import OutputError, StoreError
from bv_search.files import DigestingFile, digest_bytes
from bv_search.store.folder import PIECE_BYTES, open_folder
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.buckets import local_bucket
from tests.store.small import make_split, make_store


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with local_bucket() as address:
        yield address


def test_a_store_is_written_and_read_over_http(bucket: str) -> None:
    split = make_split()
    written = make_store(f"{bucket}/whole", {"train": split})
    read = Store.open(f"{bucket}/whole")
    assert read.digest == written.digest
    hidden = np.concatenate([block.hidden_LTH for block in read.split("train").blocks()], axis=1)
    np.testing.assert_allclose(hidden, np.concatenate(split.hidden, axis=1), atol=0.01)
    assert not any(find_damage(read))


def test_of_two_that_commit_one_is_refused(bucket: str) -> None:
    first = make_store(f"{bucket}/twice")
    with pytest.raises(OutputError, match="already holds a store"):
        make_store(f"{bucket}/twice")
    assert Store.open(f"{bucket}/twice").digest == first.digest


def test_damage_in_a_bucket_is_found(bucket: str) -> None:
    store = make_store(f"{bucket}/damaged", {"train": make_split(seed=9)})
    name = store.manifest.splits["train"].kept[0].file
    data = bytearray(store.folder.read(name))
    data[500] ^= 1
    store.folder.write(name, bytes(data))
    assert [found.file for found in find_damage(store) if found] == [name]
    with pytest.raises(StoreError, match="is damaged"):
        next(store.split("train").blocks())


def test_a_bucket_that_is_not_there_is_one_clear_line(bucket: str) -> None:
    with pytest.raises(OutputError, match="s3://no-such-bucket/x"):
        make_store("s3://no-such-bucket/x")
    with pytest.raises(StoreError, match="is not a store"):
        Store.open(f"{bucket}/nothing")


def test_readers_of_one_machine_share_one_copy(bucket: str, cache_folder: Path) -> None:
    make_store(f"{bucket}/shared", {"train": make_split(seed=4)})
    for _ in range(2):
        assert len(list(Store.open(f"{bucket}/shared").split("train").blocks())) == 5
    folder = open_folder(f"{bucket}/shared")
    kept = {path.name for path in (cache_folder / "blocks").iterdir()}
    digests = {entry.digest.replace(":", "-") for entry in Store.open(folder.url).manifest.files()}
    assert len(digests & kept) == 6


def test_a_damaged_copy_is_no_damage_of_the_store(bucket: str, cache_folder: Path) -> None:
    store = make_store(f"{bucket}/copied", {"train": make_split(seed=6)})
    entry = store.manifest.splits["train"]
    for file in (entry.kept[0], entry.index):
        copy = store.folder.local(file.file, file.digest)
        assert copy.is_relative_to(cache_folder)
        data = bytearray(copy.read_bytes())
        data[-1] ^= 1
        copy.write_bytes(data)
    assert len(list(Store.open(f"{bucket}/copied").split("train").blocks())) == 5


@pytest.fixture
def unreachable(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A bucket for which there are no credentials, or where no server listens."""
    s3fs = pytest.importorskip("s3fs")
    if request.param == "no credentials":
        for name in [name for name in os.environ if name.startswith("AWS_")]:
            monkeypatch.delenv(name)
        for name in ("AWS_SHARED_CREDENTIALS_FILE", "AWS_CONFIG_FILE"):
            monkeypatch.setenv(name, os.devnull)
        monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    s3fs.S3FileSystem.clear_instance_cache()
    yield "s3://no-way/there"
    s3fs.S3FileSystem.clear_instance_cache()


@pytest.mark.parametrize(
    ("unreachable", "found"),
    [("no credentials", "Unable to locate credentials"), ("no server", "Could not connect to the endpoint")],
    indirect=["unreachable"],
)
def test_whatever_is_asked_of_an_unreachable_bucket_is_one_clear_line(
    bucket: str, unreachable: str, found: str
) -> None:
    folder = open_folder(unreachable)
    asked: list[Callable[[], object]] = [
        folder.present,
        lambda: folder.exists("x"),
        lambda: folder.size("x"),
        folder.names,
        folder.top,
        lambda: folder.read("x"),
        lambda: folder.write("x", b"x"),
        lambda: folder.stream("x", lambda file: file.write(b"x")),
        lambda: folder.create("x", b"x"),
        lambda: folder.delete("x"),
        lambda: folder.local("x", "xxh3:absent"),
        lambda: Store.open(unreachable),
    ]
    for ask in asked:
        with pytest.raises(OutputError, match=rf"there.*: cannot be reached; found {found}.*AWS_ACCESS_KEY"):
            ask()


def test_an_upload_that_breaks_off_leaves_nothing(bucket: str) -> None:
    folder = open_folder(f"{bucket}/broken")

    def write(file: DigestingFile) -> None:
        for _ in range(3):
            file.write(bytes(PIECE_BYTES))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        folder.stream("x", write)
    gc.collect()
    assert folder.names() == []
    fs = pytest.importorskip("s3fs").S3FileSystem()
    assert "Uploads" not in fs.call_s3("list_multipart_uploads", Bucket=bucket.removeprefix("s3://"))


def test_a_large_object_travels_in_pieces(bucket: str, cache_folder: Path) -> None:
    folder = open_folder(f"{bucket}/large")
    data = np.random.default_rng(0).bytes(2 * PIECE_BYTES + 5)

    def write(file: DigestingFile) -> None:
        file.write(data[:7])
        file.write(data[7:])

    written = folder.stream("x", write)
    assert (written.size, written.digest) == (len(data), digest_bytes(data))
    assert folder.local("x", written.digest).read_bytes() == data
