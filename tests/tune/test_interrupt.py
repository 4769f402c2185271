"""Ctrl-C at a terminal: the first ends a search well, the second at once."""

import os
import pty
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bv_search.command import Progress
from bv_search.run.folder import Run
from bv_search.run.trial import RUNNING
from bv_search.store.store import Store
from bv_search.tune.budget import ANSWER, Budget, interruptible
from tests.stores import LAYERS
from tests.tune.conftest import ladder, searched

CTRL_C = b"\x03"
LONG = "space: {head: {kind: adapter, size: 4}, learning_rate: {uniform: [0.001, 0.01]}, passes: 500}"


class Terminal:
    """A search in a process group of its own, at a terminal whose keys we press."""

    def __init__(self, *words: str) -> None:
        self._said = b""
        self.process, self._place = pty.fork()
        if self.process == 0:  # pragma: no cover - the child becomes the search
            signal.signal(signal.SIGINT, signal.SIG_DFL)
            os.execv(sys.executable, [sys.executable, "-m", "bv_search.tune", *words])

    def wait_for(self, text: str, seconds: float = 240.0) -> None:
        """Until it is said after what was waited for before."""
        end = time.monotonic() + seconds
        while text.encode() not in self._said:
            assert time.monotonic() < end, self._said.decode()
            self._said += os.read(self._place, 65536)
        self._said = self._said.partition(text.encode())[2]

    def press(self, key: bytes) -> None:
        os.write(self._place, key)

    def exit_status(self) -> int:
        try:
            while data := os.read(self._place, 65536):
                self._said += data
        except OSError:  # nobody is at the other end any more
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])

    @property
    def said(self) -> str:
        return self._said.decode()


def long_search(store: Store, place: Path) -> list[str]:
    """Options of one that takes minutes."""
    space = place / "long.yaml"
    space.write_text(LONG)
    named = {
        "space": space,
        "store": store.path,
        "name": "it",
        "runs": place / "runs",
        "trials": 40,
        "pack": 2,
    }
    named |= {"searcher": "random", "scheduler": "none", "folds": 1}
    return [word for name, value in named.items() for word in (f"--{name}", str(value))]


def test_once_finishes_the_segment_and_scores_and_twice_stops_at_once(
    class_store: Store, tmp_path: Path
) -> None:
    """A terminal interrupts all its processes; those of Ray work on."""
    runs, options = tmp_path / "runs", long_search(class_store, tmp_path)

    first = Terminal(*options)
    first.wait_for(" 2 heads in a pass")
    first.press(CTRL_C)
    first.wait_for(ANSWER)
    first.press(CTRL_C)

    assert first.exit_status() == 130
    assert "interrupted; finished work is kept" in first.said
    assert "Traceback" not in first.said
    run = Run.open(runs / "it")
    assert run.seconds() == {}, "it did not come to its end"

    second = Terminal("--resume", "it", "--runs", str(runs))
    second.wait_for(" 2 heads in a pass")
    second.press(CTRL_C)
    second.wait_for(ANSWER)
    second.wait_for("the search ends: interrupted; heads are scored as they are")

    assert second.exit_status() == 0
    assert "best head" in second.said
    ended = [record for record in searched(run) if record.status != RUNNING]
    assert len(ended) >= 2
    assert all(record.answers and record.rows == 500 * 200 for record in ended), "segments were finished"
    assert (run.ending(), len(ladder(run))) == ("interrupted", LAYERS + 2)


def test_sigterm_stops_at_once_and_keeps_the_work(class_store: Store, tmp_path: Path) -> None:
    """As Slurm and Kubernetes send it, to all processes or to the first alone."""
    runs, options = tmp_path / "runs", long_search(class_store, tmp_path)
    search = Terminal(*options)
    search.wait_for(" 2 heads in a pass")
    os.kill(search.process, signal.SIGTERM)

    assert search.exit_status() == 143
    assert search.said.count("terminated; finished work is kept") == 1
    assert "SIGTERM" not in search.said, "no native stack"
    assert "Traceback" not in search.said
    run = Run.open(runs / "it")
    assert len(ladder(run)) == LAYERS + 2, "what was finished is there, and can be gone on with"


@pytest.fixture
def usual() -> Iterator[None]:
    """Tests that run in the background of a shell may have interrupts ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual")
def test_the_second_interrupt_is_one_as_usual() -> None:
    budget = Budget(None)
    with interruptible(budget, Progress(quiet=True)):
        signal.raise_signal(signal.SIGINT)
        assert budget.reason == "interrupted"
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_where_interrupts_are_ignored_or_another_thread_searches_nothing_changes() -> None:
    def search() -> None:
        with interruptible(Budget(None), Progress(quiet=True)):
            handlers.append(signal.getsignal(signal.SIGINT))

    handlers: list[object] = []
    thread = threading.Thread(target=search)
    thread.start()
    thread.join()
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        search()
    finally:
        signal.signal(signal.SIGINT, usual)
    assert handlers == [usual, signal.SIG_IGN]
