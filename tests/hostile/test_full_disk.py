"""A disk that is full, or only read, at one write of a command: one line, and room is all it takes."""

import errno
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bv_search.__main__ import main
from bv_search.files import PARTS
from tests.faulty_disk import faulty
from tests.full_disk import no_room
from tests.hostile.room import Room

LINE = 500  # characters
EVERY = 7  # of a command's writes, one in so many fails in each run of the tests, all of them by --slow
SIZES = (0, 5_000)  # of the largest file that the system allows


def _ensemble(room: Room, place: Path) -> list[str]:
    shutil.copytree(room.small.run.path, place / "run")
    return ["ensemble", str(place / "run"), "--no-mlflow"]


def _report(room: Room, place: Path) -> list[str]:
    shutil.copytree(room.small.run.path, place / "run")
    return ["report", str(place / "run"), "--together", str(place / "docs"), "--no-mlflow"]


def _predict(room: Room, place: Path) -> list[str]:
    return room.asks_predict(place / "answers.json")


def _finetune(room: Room, place: Path) -> list[str]:
    return room.asks_finetune(place / "stages", "0,0.1")


Ask = Callable[[Room, Path], list[str]]
COMMANDS: dict[str, Ask] = {
    "ensemble": _ensemble,
    "report": _report,
    "predict": _predict,
    "finetune": _finetune,
}


@pytest.fixture(params=COMMANDS)
def ask(request: pytest.FixtureRequest) -> Ask:
    return COMMANDS[request.param]


def test_a_write_that_fails_is_one_line_and_no_loss(
    ask: Ask, room: Room, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert walk(ask, room, errno.ENOSPC, EVERY, monkeypatch, capsys) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EROFS], ids=["full", "only read"])
def test_whichever_write_fails_it_is_one_line_and_no_loss(
    number: int, ask: Ask, room: Room, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert walk(ask, room, number, 1, monkeypatch, capsys) == []


@pytest.mark.parametrize("size", SIZES)
def test_where_files_may_not_grow_it_is_one_line_and_no_loss(
    size: int, ask: Ask, room: Room, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whoever writes: a library too, by calls of its own."""
    place = room.place / "it"
    place.mkdir()
    words = [*ask(room, place), "--quiet"]
    with no_room(beyond=size):
        status = main(words)
    check_answer(status, capsys.readouterr().err)
    assert main(words) == 0


def walk(
    ask: Ask,
    room: Room,
    number: int,
    every: int,
    patch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """What was not right, where the first write fails, then the next one, and so on."""
    whole = room.place / "whole"
    whole.mkdir()
    words = ask(room, whole)
    with faulty(whole, patch, number=number) as unbroken:
        assert main([*words, "--quiet"]) == 0
    wrong, chosen = [], range(every // 2, len(unbroken.done), every)
    for at in chosen:
        place = room.place / f"{at}"
        place.mkdir()
        words = [*ask(room, place), "--quiet"]
        capsys.readouterr()
        with faulty(place, patch, at, number):
            status = main(words)
        try:
            check_answer(status, capsys.readouterr().err)
            assert status == 0 or main(words) == 0, capsys.readouterr().err
            assert names_below(place) == names_below(whole)
        except AssertionError as error:
            wrong.append(f"{unbroken.done[at]}: {error}")
    return wrong


def check_answer(status: int, said: str) -> None:
    if status == 0:  # of a folder that was there already, or a part that stays; nobody misses anything
        assert said == ""
    else:
        assert (status, len(said.splitlines())) == (2, 1), said
        assert "cannot be written" in said
        assert len(said) <= LINE + 1, said


def names_below(place: Path) -> set[str]:
    """Without what nobody reads, and the next one removes."""
    return {str(path.relative_to(place)) for path in place.rglob("*")} - {
        str(path.relative_to(place)) for path in place.rglob(PARTS)
    }
