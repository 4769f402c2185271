"""Whatever stands in a file, a command answers soon, by its exit status and one line, and leaves nothing."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bv_search.__main__ import main
from tests.hostile.cases import FAMILIES
from tests.hostile.room import Case, Room

SECONDS = 10  # one that hangs is ended, and fails
LINE = 500  # characters
EVERY = 5  # of a family, one in so many is tried in each run of the tests, the others by --slow


MEMORY = 6 << 30  # bytes beyond what the process has


class Hangs(BaseException):
    """Nothing in the project catches it."""


def _table() -> Iterator[Any]:
    for family, cases in FAMILIES.items():
        for number, case in enumerate(cases):
            marks = [pytest.mark.slow] if number % EVERY else []
            yield pytest.param(case, id=f"{family}: {case.name}", marks=marks)


@pytest.mark.parametrize("case", list(_table()))
def test_a_hostile_input_is_answered_by_one_line(
    case: Case, room: Room, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(room.place)
    words = case.make(room)
    before = _files(room.place)
    capfd.readouterr()
    with _ended_after(SECONDS), _within(MEMORY):
        status = main([*words, "--quiet"])
    shown = capfd.readouterr()
    assert "Traceback" not in shown.err, shown.err
    assert len(shown.err.splitlines()) == 1, shown.err
    assert len(shown.err) <= LINE + 1, shown.err
    assert case.says in shown.err
    assert (status, shown.out) == (case.status, "")
    assert _files(room.place) == before


def test_names_of_a_family_are_told_apart() -> None:
    for family, cases in FAMILIES.items():
        names = [case.name for case in cases]
        assert len(set(names)) == len(names), family


def _files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*")}


@contextmanager
def _ended_after(seconds: float) -> Iterator[None]:
    def end(number: int, frame: object) -> None:
        raise Hangs(f"no answer after {seconds} s")

    usual = signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, usual)


@contextmanager
def _within(more: int) -> Iterator[None]:
    """A bomb is to end its own process, and not all others of the machine."""
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + more, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
