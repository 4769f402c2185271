"""The recorder writes down what becomes of heads, and brings MLflow up to date without waiting for it."""

from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bv_search.run.folder import Run
from bv_search.run.trial import replay
from bv_search.scan.checks import Check
from bv_search.scan.outcome import SegmentResult
from bv_search.tune import recorder as module
from bv_search.tune.recorder import LONGEST_SECONDS, MIRROR_SECONDS, MIRRORING_SECONDS, Recorder
from bv_search.tune.resume import read_past


def test_while_mlflow_is_away_it_is_tried_ever_less_often(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, tries, reached = 0.0, [], False

    def sync() -> bool:
        tries.append(now)
        return reached

    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    parts: dict[str, Any] = {"run": SimpleNamespace(path=tmp_path), "store": None}
    recorder = Recorder(**parts, mirror=SimpleNamespace(sync=sync))  # type: ignore[arg-type]
    for second in range(1, 3000):
        now, reached = float(second), second > 2000
        recorder.mirror()

    pauses = [later - earlier for earlier, later in pairwise(tries)]
    assert pauses[:3] == [2 * MIRROR_SECONDS + 1, 4 * MIRROR_SECONDS + 1, 8 * MIRROR_SECONDS + 1]
    assert max(pauses) == LONGEST_SECONDS + 1
    assert pauses[-1] == MIRROR_SECONDS + 1


def test_what_is_recorded_of_a_head_is_read_again(tmp_path: Path) -> None:
    """By a resumed session, and by all who look at the run; its state is there before the event is."""
    run = Run(tmp_path, study=None)  # type: ignore[arg-type]
    recorder = Recorder(run, store=None, mirror=None)  # type: ignore[arg-type]
    first, second = (Check(position=n, rows=16 * n, score=0.1 * n, loss=1.0 / n) for n in (3, 6))
    config = {"head": {"kind": "linear"}, "learning_rate": 0.01}
    recorder.suggested("probe-all", config, "probe")
    recorder.suggested("0001", config)
    for position, checks, found, has_learned in (
        (3, (first,), None, False),
        (5, (), first, False),
        (8, (second,), second, True),
    ):
        outcome = SegmentResult(
            trial="0001",
            position=position,
            rows=16 * position,
            state=str(position).encode(),
            has_learned=has_learned,
            checks=checks,
            found=found,
        )
        recorder.segment([outcome], seconds=0.5, over={"0001": "done"} if has_learned else {})
        assert recorder.state("0001", position) == str(position).encode()
    assert [path.name for path in (tmp_path / "states").iterdir()] == ["0001-8.safetensors"]

    events = run.journal.read()
    rung, head = read_past(events)
    assert (rung.rung, rung.config, head.rung) == ("probe", config, None)
    assert (head.position, head.has_learned) == (8, True)
    assert (head.found, head.status) == ([(5, first), (8, second)], "done")
    record = replay(events)["0001"]
    assert (record.rows, record.score, record.loss) == (128, second.score, second.loss)
    assert [(point.rows, point.loss) for point in record.curve] == [(48, first.loss), (96, second.loss)]
    assert replay(events)["probe-all"].rung == "probe"


def test_an_mlflow_that_takes_long_is_left_to_a_process_of_its_own(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now, said = 0.0, []

    def sync() -> bool:
        nonlocal now
        now += MIRRORING_SECONDS / 2.5
        said.append("sync")
        return True

    mirror = SimpleNamespace(sync=sync, hand_over=lambda: said.append("hand over"))
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now))
    parts: dict[str, Any] = {"run": SimpleNamespace(path=tmp_path), "store": None}
    recorder = Recorder(**parts, mirror=mirror)  # type: ignore[arg-type]
    for _ in range(3):
        now += 10.0
        recorder.mirror()
    assert said == ["sync", "sync", "sync", "hand over"], "once it has taken that long in all"


def test_files_of_a_pack_are_there_before_its_line_and_old_states_go_after_it(tmp_path: Path) -> None:
    run = Run(tmp_path, study=None)  # type: ignore[arg-type]
    recorder = Recorder(run, store=None, mirror=None)  # type: ignore[arg-type]
    trials = [f"{n:04d}" for n in range(20)]
    for position in (1, 2):
        pack = [
            SegmentResult(trial=t, position=position, rows=16, state=f"{t} {position}".encode())
            for t in trials
        ]
        recorder.segment(pack, seconds=1.0, over={})
        assert {path.name for path in (tmp_path / "states").iterdir()} == {
            f"{trial}-{position}.safetensors" for trial in trials
        }
    failed = SegmentResult(trial="0003", position=2, rows=16, failure="diverged")
    recorder.segment([failed], seconds=1.0, over={})
    assert not run.state_path("0003", 2).exists()
    assert recorder.state("0004", 2) == b"0004 2"


def test_a_suggestion_stands_on_the_line_of_what_comes_of_it(tmp_path: Path) -> None:
    """Where a search is broken off before, it is suggested again."""
    run = Run(tmp_path, study=None)  # type: ignore[arg-type]
    recorder = Recorder(run, store=None, mirror=None)  # type: ignore[arg-type]
    for trial in ("0001", "0002"):
        recorder.suggested(trial, {"learning_rate": 0.01})
    assert not run.journal.path.exists()
    recorder.failed("0001", "a bug")
    recorder.failed("0002", "a bug")
    assert [(event["event"], event["trial"]) for event in run.events()] == [
        ("suggest", "0001"),
        ("suggest", "0002"),
        ("finish", "0001"),
        ("finish", "0002"),
    ]
    assert len(run.journal.path.read_bytes().splitlines()) == 2


def test_a_sweep_takes_what_a_search_left_and_nothing_of_others(tmp_path: Path) -> None:
    """An export into the run that was killed, or a report that is being written, is theirs."""
    run = Run(tmp_path, study=None)  # type: ignore[arg-type]
    recorder = Recorder(run, store=None, mirror=None)  # type: ignore[arg-type]
    ours = (".study.yaml.7.part", "states/.0001-3.safetensors.7.part", "trials/0001/.config.json.7.part")
    theirs = (".export.7.part/model.json", ".report.html.7.part", "predictions/.it.jsonl.7.part")
    for name in (*ours, *theirs, "states/0001-3.safetensors"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    recorder.sweep([])
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert left == set(theirs)
