"""Who holds a place: among machines that share a folder, and no locks."""

import json
import os
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from bv_search import holder
from bv_search.errors import OutputError, RunError
from bv_search.extract.lock import HOLD
from bv_search.extract.lock import hold as hold_store
from bv_search.holder import CARD_BYTES, Card, may_take
from bv_search.run.journal import Journal
from bv_search.run.lock import sole
from bv_search.store.folder import LocalFolder

ELSEWHERE = "another boot of another kernel"
BEAT = 0.05


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(holder, "BEAT_SECONDS", BEAT)
    monkeypatch.setattr(holder, "STALE_SECONDS", 20 * BEAT)


def card_of(**changes: Any) -> Card:
    return replace(Card(), host="far", machine=ELSEWHERE, process=7, **changes)


def leave(path: Path, card: Card, *, behind: float = 0.0) -> None:
    """As its holder would, whose lock does not reach here, and whose clock may be behind."""
    said = {**asdict(card), "at": time.time() - behind}
    handle = os.open(path, os.O_RDWR | os.O_CREAT)
    os.pwrite(handle, json.dumps(said).encode().ljust(CARD_BYTES), 0)
    os.close(handle)


def process_in(path: Path) -> int | None:
    card = Card.read(path.read_bytes())
    return None if card is None else card.process


def test_who_beats_on_another_machine_is_named(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    leave(path, card_of())

    with (
        pytest.raises(RunError, match=r"found process 7 on far, since .* last heard of 0 s ago; "),
        sole(path),
    ):
        pass
    assert process_in(path) == 7, "it is left alone"


def test_a_clock_that_is_behind_makes_nobody_dead(tmp_path: Path) -> None:
    path, stop, card = tmp_path / ".lock", threading.Event(), card_of()
    leave(path, card, behind=3600)

    def beat() -> None:
        while not stop.wait(BEAT / 2):
            leave(path, card, behind=3600)

    thread = threading.Thread(target=beat)
    thread.start()
    try:
        with pytest.raises(RunError, match="process 7 on far"), sole(path):
            pass
    finally:
        stop.set()
        thread.join()


@pytest.mark.parametrize("take", [sole, lambda path: hold_store(LocalFolder(path.parent))])
def test_who_is_not_heard_of_any_more_is_dead(take: Callable[[Path], object], tmp_path: Path) -> None:
    path = tmp_path / HOLD
    leave(path, card_of())
    time.sleep(25 * BEAT)

    with ExitStack() as stack:
        stack.enter_context(take(path))  # type: ignore[arg-type]
        assert process_in(path) == os.getpid()
    assert not path.exists() or path.read_bytes() == b"", "it is free again"


def test_a_holder_that_lost_its_place_writes_nothing_more(tmp_path: Path) -> None:
    """Its machine slept, and another one took over."""
    path, journal = tmp_path / ".lock", Journal(tmp_path / "journal.jsonl")
    with sole(path) as require:
        journal.guard = require
        journal.append({"event": "mine"})
        leave(path, card_of())
        time.sleep(3 * BEAT)
        with pytest.raises(RunError, match="process 7 on far"):
            journal.append({"event": "late"})
    assert [event["event"] for event in journal.read()] == ["mine"]
    assert process_in(path) == 7, "nor does it take the place away"


def test_an_extraction_is_refused_across_machines(tmp_path: Path) -> None:
    leave(tmp_path / HOLD, card_of())
    said = "another extraction is writing here; found process 7 on far"
    with pytest.raises(OutputError, match=said), hold_store(LocalFolder(tmp_path)):
        pass
    assert (tmp_path / HOLD).exists()


def test_a_process_that_has_the_number_of_a_dead_one_is_another() -> None:
    mine = Card()
    assert not mine.is_dead
    assert replace(mine, begun="1").is_dead
    assert may_take(lambda: replace(mine, begun="1"))


def test_a_card_is_fresh_while_it_is_held(tmp_path: Path) -> None:
    path = tmp_path / ".lock"
    with sole(path):
        first, deadline = path.read_bytes(), time.monotonic() + 10
        while path.read_bytes() == first and time.monotonic() < deadline:
            time.sleep(BEAT)
        assert path.read_bytes() != first
    assert path.read_bytes() == b""
