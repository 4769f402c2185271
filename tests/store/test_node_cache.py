"""Copies of far blocks on a machine's disk: one of each, within a limit, whatever dies."""

import errno
import logging
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from multiprocessing.context import ForkProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from threading import Thread
from typing import Any, BinaryIO

import numpy as np
import pytest

from bv_search.files import digest_bytes
from bv_search.store.block import map_npy
from bv_search.store.node_cache import LOCK, NodeCache
from bv_search.store.store import Store
from tests.buckets import local_bucket
from tests.store.small import make_split, make_store

SIZE = 1000
FORK = multiprocessing.get_context("fork")
Begin = Callable[[], tuple[ForkProcess, Event, Event]]


def content(name: str) -> bytes:
    return name.encode().ljust(SIZE, b".")


class Far:
    """What copies are made of; it counts how often."""

    def __init__(self, cache: NodeCache) -> None:
        self.cache = cache
        self.fetched: list[str] = []

    def read(self, name: str) -> bytes:
        with self.hold(name) as path:
            return path.read_bytes()

    def hold(self, name: str) -> AbstractContextManager[Path]:
        data = content(name)

        def fill(file: BinaryIO) -> None:
            self.fetched.append(name)
            file.write(data)

        return self.cache.held(name, digest_bytes(data), len(data), fill)


@pytest.fixture
def far(tmp_path: Path) -> Far:
    return Far(NodeCache(tmp_path / "blocks", 3 * SIZE))


def kept(far: Far) -> set[str]:
    return {path.name for path in far.cache.folder.iterdir() if not path.name.startswith(".")}


def test_a_block_is_fetched_once(far: Far) -> None:
    assert [far.read("a"), far.read("a")] == [content("a")] * 2
    assert Far(NodeCache(far.cache.folder)).read("a") == content("a")
    assert far.fetched == ["a"]


def test_the_least_recently_used_goes(far: Far) -> None:
    for name in ("a", "b", "c", "a", "d"):
        assert far.read(name) == content(name)
        time.sleep(0.01)  # its time of use is a file's
    assert kept(far) == {"a", "c", "d"}


def test_a_block_in_use_stays(far: Far) -> None:
    with far.hold("a"), far.hold("b"):
        for name in ("c", "d", "e"):
            assert far.read(name) == content(name)
        assert kept(far) == {"a", "b", "e"}


def test_a_map_keeps_its_block(tmp_path: Path) -> None:
    values = np.arange(60, dtype=np.float16).reshape(3, 4, 5)
    np.save(tmp_path / "x.npy", values)
    data = (tmp_path / "x.npy").read_bytes()
    cache = NodeCache(tmp_path / "blocks", len(data))
    with cache.held("x", digest_bytes(data), len(data), lambda file: file.write(data)) as path:
        mapped = map_npy(path, values.shape, "float16")
    other = b"y" * len(data)

    def read_other() -> None:
        with cache.held("y", digest_bytes(other), len(other), lambda file: file.write(other)) as path:
            assert path.read_bytes() == other

    read_other()
    assert (cache.folder / "x").exists(), "the one block that there is room for is in use"
    assert not (cache.folder / "y").exists()
    np.testing.assert_array_equal(mapped, values)
    del mapped
    read_other()
    assert not (cache.folder / "x").exists()
    assert (cache.folder / "y").exists()


def test_a_block_that_is_larger_than_the_cache_drives_none_out(far: Far) -> None:
    far.read("a")
    large = bytes(4 * SIZE)
    with far.cache.held("x", digest_bytes(large), len(large), lambda file: file.write(large)) as path:
        assert path.read_bytes() == large
    assert kept(far) == {"a"}


def test_two_may_hold_a_block_that_one_of_them_fetched(far: Far) -> None:
    with far.hold("a"):
        other = Thread(target=Far(NodeCache(far.cache.folder)).read, args=("a",), daemon=True)
        other.start()
        other.join(10)
        assert not other.is_alive()


def test_where_all_is_in_use_a_block_is_read_past_the_cache_and_this_is_said_once(
    far: Far, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING), far.hold("a"), far.hold("b"), far.hold("c"):
        for name in ("d", "e", "d"):
            assert far.read(name) == content(name)
        assert kept(far) == {"a", "b", "c"}
    assert far.fetched == ["a", "b", "c", "d", "e", "d"]
    assert len(caplog.records) == 1
    assert far.cache.trouble is not None
    assert "in use; blocks are read without it" in far.cache.trouble


@pytest.mark.parametrize("call", ["posix_fallocate", "open"])
def test_a_disk_that_takes_nothing_costs_no_block(
    far: Far, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = getattr(os, call)

    def fail(*args: object) -> object:
        if call == "open" and not str(args[0]).endswith(".part"):
            return real(*args)
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, call, fail)
    assert [far.read(name) for name in "aba"] == [content(name) for name in "aba"]
    assert far.cache.trouble is not None
    assert "No space left on device" in far.cache.trouble
    assert kept(far) == set() if far.cache.folder.exists() else True


def test_a_full_disk_makes_room_first(far: Far, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is fuller than the limit says: others write to it, too."""
    far.read("a")
    real, full = os.posix_fallocate, [True]

    def fail_once(*args: int) -> None:
        if full.pop() if full else False:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(*args)

    monkeypatch.setattr(os, "posix_fallocate", fail_once)
    assert far.read("b") == content("b")
    assert kept(far) == {"b"}
    assert far.cache.trouble is None


def test_what_cannot_be_fetched_leaves_nothing(far: Far) -> None:
    def fail(file: BinaryIO) -> None:
        file.write(b"half")
        raise KeyError("gone")

    with pytest.raises(KeyError), far.cache.held("x", "xxh3:0", SIZE, fail):
        raise AssertionError("nothing to read")
    assert kept(far) == set()
    assert not list(far.cache.folder.glob(".*.part"))


def _fetch_slowly(folder: Path, log: Path, begun: Event, go: Event) -> None:
    data = content("a")

    def fill(file: BinaryIO) -> None:
        with log.open("a") as lines:
            lines.write("fetched\n")
        file.write(data[:500])
        begun.set()
        go.wait(30)
        file.write(data[500:])

    with NodeCache(folder, 3 * SIZE).held("a", digest_bytes(data), SIZE, fill) as path:
        assert path.read_bytes() == data


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Begin]:
    """A process that fetches block a, and stops in the middle of it."""
    made = []

    def begin() -> tuple[ForkProcess, Event, Event]:
        begun, go = FORK.Event(), FORK.Event()
        arguments = (tmp_path / "blocks", tmp_path / "log", begun, go)
        process = FORK.Process(target=_fetch_slowly, args=arguments)
        process.start()
        made.append(process)
        return process, begun, go

    yield begin
    for process in made:
        process.kill()
        process.join()


def test_of_two_processes_that_want_a_block_one_fetches_it(tmp_path: Path, start: Begin) -> None:
    first, begun, go = start()
    assert begun.wait(30)
    second, _, _ = start()
    time.sleep(0.2)
    assert second.is_alive(), "it waits for the other"
    go.set()
    first.join(30)
    second.join(30)
    assert (first.exitcode, second.exitcode) == (0, 0)
    assert (tmp_path / "log").read_text() == "fetched\n"


def test_a_process_that_dies_at_it_leaves_it_to_the_next(tmp_path: Path, start: Begin) -> None:
    first, begun, _ = start()
    assert begun.wait(30)
    second, _, go = start()
    go.set()
    time.sleep(0.2)
    first.kill()
    second.join(30)
    assert second.exitcode == 0
    assert (tmp_path / "log").read_text() == "fetched\n" * 2


def test_what_a_dead_process_left_takes_no_room(far: Far, start: Begin) -> None:
    first, begun, _ = start()
    assert begun.wait(30)
    first.kill()
    first.join()
    assert list(far.cache.folder.glob(".*.part"))
    for name in ("b", "c", "d"):
        far.read(name)
    assert kept(far) == {"b", "c", "d"}
    assert not list(far.cache.folder.glob(".*.part"))


def _read_blocks(url: str, cache: int | None) -> None:
    store = Store.open(url, cache=cache)
    for _ in range(2):
        assert len(list(store.split("train").blocks())) == 5
    os._exit(0)


class Requests(logging.Handler):
    """What a local server was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def of_blocks(self) -> list[str]:
        return [line for line in self.lines if "GET" in line and "/blocks/" in line]


@pytest.fixture(scope="module")
def bucket() -> Iterator[str]:
    with local_bucket() as address:
        yield address


@pytest.fixture
def requests() -> Iterator[Requests]:
    logger, handler = logging.getLogger("werkzeug"), Requests()
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    yield handler
    logger.removeHandler(handler)
    logger.setLevel(level)


@pytest.mark.parametrize(("cached", "passes"), [(None, 1), (1, 4)])
def test_two_readers_of_a_store_in_a_bucket_ask_for_each_block_once(
    bucket: str, requests: Requests, cached: int | None, passes: int
) -> None:
    """Two passes each. With a cache that takes none, every reader asks in every pass."""
    url = f"{bucket}/shared-{passes}"
    make_store(url, {"train": make_split(seed=passes + 20)})
    context = multiprocessing.get_context("spawn")
    readers = [context.Process(target=_read_blocks, args=(url, cached)) for _ in range(2)]
    requests.lines.clear()
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join(120)
    assert [reader.exitcode for reader in readers] == [0, 0]
    assert len(requests.of_blocks()) == 5 * passes


def test_blocks_of_a_far_store_are_let_go_after_use(bucket: str, cache_folder: Path) -> None:
    """So a cache of those that are read ahead serves a pass over all."""
    store = make_store(f"{bucket}/small", {"train": make_split(160, seed=31)})
    blocks, folder = store.manifest.splits["train"].kept, cache_folder / "blocks"
    before = sum(path.stat().st_size for path in folder.iterdir())
    limit = before + 5 * max(block.size for block in blocks)
    read = Store.open(store.path, cache=limit)
    assert [block.windows for block in read.split("train").blocks()] == [block.windows for block in blocks]
    assert sum(path.stat().st_size for path in folder.iterdir()) <= limit
    assert read.trouble is None


@pytest.mark.parametrize("name", ["utime", "lock"])
def test_a_cache_of_another_user_is_read_or_done_without(
    far: Far, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    far.read("a")
    usual = os.open

    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "Permission denied")

    def refuse_lock(path: Any, *more: Any) -> int:
        return refuse() if str(path).endswith(LOCK) else usual(path, *more)

    if name == "utime":
        monkeypatch.setattr("os.utime", refuse)
    else:
        monkeypatch.setattr("os.open", refuse_lock)
    assert far.read("a") == content("a")
    assert far.read("b") == content("b")
    assert (far.cache.trouble is not None) == (name == "lock")
