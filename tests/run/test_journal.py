import json
import multiprocessing
import os
import resource
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bv_search.document import read_plain
from bv_search.errors import OutputError, RunError
from bv_search.run import Journal
from bv_search.run import journal as module


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    journal = Journal(tmp_path / "journal.jsonl")
    journal.append({"event": "suggest", "trial": "a", "config": {"size": 64}})
    journal.append({"event": "segment", "trial": "a", "rows": 16, "score": 0.5, "seconds": 1.0})
    return journal


def events(journal: Journal) -> list[str]:
    return [event["event"] for event in journal.read()]


def test_what_is_appended_is_read_back_with_its_time(journal: Journal) -> None:
    first, second = journal.read()
    assert first["config"] == {"size": 64}
    assert second["score"] == 0.5
    assert second["at"] >= first["at"] > 1e9


def test_every_line_is_json_with_a_checksum(journal: Journal) -> None:
    lines = [json.loads(line) for line in journal.path.read_text().splitlines()]
    assert [len(line["xxh3"]) for line in lines] == [16, 16]


def test_a_score_that_diverged_is_no_score(journal: Journal) -> None:
    journal.append({"event": "segment", "trial": "a", "rows": 32, "score": float("nan"), "seconds": 1})
    journal.append({"event": "segment", "trial": "a", "rows": np.int64(48), "score": np.float32(0.5)})
    *_, nothing, number = journal.read()
    assert nothing["score"] is None
    assert (number["rows"], number["score"]) == (48, 0.5)


def test_a_tail_torn_at_any_byte_is_passed_over_by_readers_and_cut_by_the_next_writer(
    journal: Journal,
) -> None:
    whole = journal.path.read_bytes()
    last = whole.rindex(b"\n", 0, -1) + 1
    for end in range(last, len(whole)):
        journal.path.write_bytes(whole[:end])
        assert events(journal) == ["suggest"]
        journal.append({"event": "end", "seconds": {}})
        assert events(journal) == ["suggest", "end"]


def test_a_last_line_of_zeros_after_a_power_cut_is_torn_too(journal: Journal) -> None:
    journal.path.write_bytes(journal.path.read_bytes() + b'{"xxh3":"' + b"\0" * 90 + b"1}\n")
    assert events(journal) == ["suggest", "segment"]
    journal.append({"event": "end", "seconds": {}})
    assert events(journal) == ["suggest", "segment", "end"]


def test_every_flipped_bit_inside_is_an_error_that_names_the_line(journal: Journal) -> None:
    whole = journal.path.read_bytes()
    for position in range(len(whole) - 1):
        for bit in (0, 5):
            flipped = bytearray(whole)
            flipped[position] ^= 1 << bit
            journal.path.write_bytes(flipped)
            with pytest.raises(RunError, match=r"journal\.jsonl line [12]: is damaged; expected"):
                journal.read()


def test_reading_on_in_portions_finds_what_reading_whole_does(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(20):
        journal.append({"event": "segment", "trial": "a" * number}, {"event": "end"})
    whole = journal.path.read_bytes()
    for tail in (b"", b'{"xxh3":"', b'{"xxh3":"' + b"\0" * 90 + b"1}\n"):
        journal.path.write_bytes(whole + tail)
        for chunk, most in ((1, 1), (50, 2), (100, 7), (len(whole), 22), (1 << 20, 100)):
            monkeypatch.setattr(module, "CHUNK", chunk)
            found, offset = journal.read_on(0, most)
            while (more := journal.read_on(offset, most))[0]:
                found, offset = found + more[0], more[1]
            assert found == journal.read()
            assert offset == len(whole)


def test_a_portion_is_all_that_is_read_of_a_long_journal(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(100):
        journal.append({"event": "segment", "trial": "a" * 1000})
    read = []

    def listen(*args: Any, **more: Any) -> bytes:
        read.append(len(data := read_plain(*args, **more)))
        return data

    monkeypatch.setattr(module, "CHUNK", 1000)
    monkeypatch.setattr(module, "read_plain", listen)
    journal.read_on(0, 3)
    assert sum(read) < 5000


def test_an_absent_journal_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(RunError, match="give the folder of a run"):
        Journal(tmp_path / "none.jsonl").read()


def _append_many(path: Path, name: str) -> None:
    for number in range(40):
        Journal(path).append({"event": "segment", "trial": name, "rows": number})


def test_two_processes_append_without_losing_a_line(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=_append_many, args=(path, name)) for name in ("a", "b")]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    found = [(event["trial"], event["rows"]) for event in Journal(path).read()]
    assert sorted(found) == [(name, number) for name in ("a", "b") for number in range(40)]


def _append_past_the_limit(path: Path) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 40, resource.RLIM_INFINITY))
    try:
        Journal(path).append({"event": "end", "seconds": {"search": 1.0}, "more": "x" * 100})
    except OutputError:
        os._exit(7)
    os._exit(0)


def test_a_full_disk_is_one_line_and_leaves_the_journal_as_it_was(journal: Journal) -> None:
    before = journal.path.read_bytes()
    writer = multiprocessing.get_context("fork").Process(target=_append_past_the_limit, args=(journal.path,))
    writer.start()
    writer.join()
    assert writer.exitcode == 7
    assert journal.path.read_bytes() == before
