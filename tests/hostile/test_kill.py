"""A command killed at one of its writes: each file is whole or absent, and asked again it ends alike."""

import os
import shutil
import signal
import sys
from multiprocessing import get_context
from pathlib import Path

import pytest

from bv_search.__main__ import main
from bv_search.files import PARTS
from bv_search.run.folder import LOCK
from tests.faulty_disk import KILL, faulty
from tests.hostile.room import Room
from tests.hostile.test_full_disk import COMMANDS, Ask

# not forked from this process: a child would wait for the threads that torch has here
PROCESSES = get_context("forkserver")
PROCESSES.set_forkserver_preload(["torch", "tests.hostile.test_full_disk"])
EVERY = 11  # of a command's writes, at one in so many it is killed in each run of the tests, at all by --slow
SECONDS = 120.0
OTHERWISE = {"journal.jsonl", LOCK}  # when each command ended, and who holds a run: proven elsewhere


@pytest.fixture(params=["ensemble", "report", "predict"])
def ask(request: pytest.FixtureRequest) -> Ask:
    return COMMANDS[request.param]


def test_killed_at_a_write_it_leaves_whole_files_and_ends_alike_when_asked_again(
    ask: Ask, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert walk(ask, room, EVERY, monkeypatch) == []


@pytest.mark.slow
def test_at_whichever_write_it_is_killed_it_ends_alike_when_asked_again(
    ask: Ask, room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert walk(ask, room, 1, monkeypatch) == []


def walk(ask: Ask, room: Room, every: int, patch: pytest.MonkeyPatch) -> list[str]:
    """What was not right, where it is killed at the first write, then at the next one, and so on."""
    place = room.place / "it"  # one place for all: pages name it
    words = prepared(ask, room, place)
    before = files_below(place)
    with faulty(place, patch, number=KILL) as unbroken:
        assert main(words) == 0
    whole = files_below(place)
    assert whole != before
    wrong = []
    for at in range(every // 2, len(unbroken.done), every):
        words = prepared(ask, room, place)
        assert killed(words, place, at), unbroken.done[at]
        for name, content in files_below(place).items():
            if content not in (whole.get(name), before.get(name)):
                wrong.append(f"{unbroken.done[at]}: {name} is neither as it was nor as it becomes")
        if main(words) != 0 or files_below(place) != whole:
            wrong.append(f"{unbroken.done[at]}: ends otherwise")
    return wrong


def prepared(ask: Ask, room: Room, place: Path) -> list[str]:
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    return [*ask(room, place), "--quiet"]


def killed(words: list[str], place: Path, at: int) -> bool:
    """Whether a process of its own that does this dies at that write."""
    process = PROCESSES.Process(target=run, args=(words, place, at))
    process.start()
    process.join(SECONDS)
    return process.exitcode == -signal.SIGKILL


def run(words: list[str], place: Path, at: int) -> None:
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 - for good, in a process of its own
    with faulty(place, pytest.MonkeyPatch(), at, KILL):
        os._exit(main(words))


def files_below(place: Path) -> dict[str, bytes]:
    parts = {*place.rglob(PARTS)}
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in sorted(place.rglob("*"))
        if path.is_file() and path not in parts and path.name not in OTHERWISE
    }
