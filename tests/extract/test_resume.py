"""Interrupted anywhere, extraction goes on and ends with the store of an unbroken run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.errors import BvError, OutputError
from bv_search.extract.config import ExtractConfig
from bv_search.extract.executor import LocalExecutor
from bv_search.extract.extraction import run
from bv_search.extract.job import BlockTask
from bv_search.extract.lock import hold
from bv_search.extract.resume import refuse_another_try
from bv_search.files import Disk
from bv_search.store.folder import LocalFolder, open_folder
from bv_search.store.layout import BlockLimits
from bv_search.store.store import Store
from bv_search.store.verify import find_damage
from tests.extract.conftest import Extract, contents
from tests.failing_disk import FailingDisk

FEW = BlockLimits(bytes=1, windows=32)


@pytest.mark.parametrize("fmt", ["npy", "parquet"])
def test_a_failure_at_any_write_fsync_or_rename_is_made_good(
    extract: Extract, tmp_path: Path, request: pytest.FixtureRequest, fmt: str
) -> None:
    """Of the whole extraction; every seventh of them where slow tests are not asked for."""
    step = 1 if request.config.getoption("--slow") else 7
    counting = FailingDisk()
    settings = {"limits": FEW, "format": fmt}
    whole = extract(out=str(tmp_path / "whole"), disk=counting, **settings)
    assert counting.calls > 40
    for at in range(0, counting.calls, step):
        place = tmp_path / "broken" / str(at)
        with pytest.raises(OutputError, match="No space left on device"):
            extract(out=str(place), disk=FailingDisk(at), **settings)
        assert not list(place.rglob("*.part"))
        if (place / "manifest.json").exists():
            assert not any(find_damage(Store.open(place)))
        resumed = extract(out=str(place), **settings)
        assert resumed.manifest == whole.manifest
        assert contents(place) == contents(tmp_path / "whole")


def test_only_what_was_not_finished_is_done_again(extract: Extract, tmp_path: Path) -> None:
    whole = extract(out=str(tmp_path / "whole"))
    blocks = "*/blocks/*.npy"
    with pytest.raises(OutputError):
        extract(disk=FailsAtBlock(5))
    before = {path: path.stat().st_ino for path in (tmp_path / "store").glob(blocks)}
    assert len(before) == 4
    resumed = extract()
    assert resumed.encoded_blocks == whole.blocks - 4
    assert {path: path.stat().st_ino for path in before} == before
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


class FailsAtBlock(Disk):
    """Fails at the n-th block that is put in its place."""

    def __init__(self, number: int) -> None:
        self._left = number

    def rename(self, old: Path, new: Path) -> None:
        self._left -= new.suffix == ".npy"
        if self._left == 0:
            raise OSError(28, "No space left on device")
        super().rename(old, new)


def test_what_a_killed_process_had_not_finished_is_removed(extract: Extract, tmp_path: Path) -> None:
    extract(out=str(tmp_path / "whole"))
    with pytest.raises(OutputError):
        extract(disk=FailsAtBlock(3))
    (tmp_path / "store/train/blocks/.00003.npy.1234.part").write_bytes(b"half")
    extract()
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


def test_a_block_that_was_lost_meanwhile_is_done_again(extract: Extract, tmp_path: Path) -> None:
    whole = extract(out=str(tmp_path / "whole"))
    with pytest.raises(OutputError):
        extract(disk=FailsAtBlock(5))
    (tmp_path / "store/train/blocks/00001.npy").write_bytes(b"torn")
    assert extract().encoded_blocks == whole.blocks - 3
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


@pytest.mark.parametrize("file", ["train/index.parquet", ".extract/done/train/00000.parquet"])
def test_damage_to_the_notes_of_an_interrupted_run_is_made_good(
    extract: Extract, tmp_path: Path, file: str
) -> None:
    extract(out=str(tmp_path / "whole"))
    with pytest.raises(OutputError):
        extract(disk=FailsAtBlock(3))
    (tmp_path / "store" / file).write_bytes(b"torn")
    extract(limits=BlockLimits())
    assert contents(tmp_path / "store") == contents(tmp_path / "whole")


def test_other_settings_do_not_go_on_with_an_unfinished_extraction(extract: Extract) -> None:
    with pytest.raises(OutputError):
        extract(disk=FailsAtBlock(3))
    with pytest.raises(OutputError, match="holds an unfinished extraction with other settings; found dtype"):
        extract(dtype="bfloat16")
    extract()


def test_a_second_extraction_is_told_who_holds_the_place(extract: Extract, tmp_path: Path) -> None:
    with (
        hold(open_folder(tmp_path / "store")),
        pytest.raises(OutputError, match=r"another extraction is writing here; found process \d+ on"),
    ):
        extract()
    extract()


def test_a_worker_that_outlived_its_run_writes_nothing(
    config: Callable[..., ExtractConfig], tmp_path: Path
) -> None:
    class Overtaken(LocalExecutor):
        """Between planning and encoding, another run takes the place."""

        def encode(self, job, tasks):  # type: ignore[no-untyped-def]
            LocalFolder(tmp_path / "store").write(".extract.lock", b'{"token": "another"}')
            return super().encode(job, tasks)

    with pytest.raises(BvError, match="is not held by this extraction any more"):
        run(config(), Progress(quiet=True), Overtaken(threads=1))
    assert not list((tmp_path / "store").glob("*/blocks/*.npy"))


def test_a_block_is_not_to_blame_for_machines_that_are_gone(tmp_path: Path) -> None:
    folder = LocalFolder(tmp_path)
    task = BlockTask(split="train", role="train", number=3, index_digest="")
    for machine in ("a", "b", "c", "d"):  # each is lost with the worker
        refuse_another_try(folder, task, machine, [machine])
    for machine in ("e", "f"):
        refuse_another_try(folder, task, machine, ["e", "f"])
    with pytest.raises(BvError, match="found 3 ended by the system"):
        refuse_another_try(folder, task, "f", ["e", "f"])
