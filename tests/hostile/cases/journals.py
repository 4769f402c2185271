"""Runs: journals with sound checksums and forged events, studies, ensembles, predictions."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.hostile.room import (
    Case,
    Change,
    Room,
    drop,
    forge_event,
    forge_line,
    forge_study,
    forging,
    given,
    put,
)

Forge = Callable[[Path], object]

NAN = float("nan")


def _finish(**more: Any) -> dict[str, Any]:
    report = {"score": 0.5, "interval": [0.4, 0.6], "metrics": {"f1": 0.5}}
    return {
        "event": "finish",
        "trial": "0001",
        "status": "done",
        "score": 0.5,
        "loss": 0.5,
        "draws": [],
        "parameters": 10,
        "report": report,
        "at": 1.0,
        **more,
    }


def _segment(**more: Any) -> dict[str, Any]:
    return {
        "event": "segment",
        "trial": "0001",
        "position": 3,
        "rows": 48,
        "found": None,
        "checks": [],
        "has_learned": False,
        "state": "xxh3:0",
        "seconds": 1.0,
        "at": 1.0,
        **more,
    }


EVENTS: dict[str, Any] = {
    "an event without a name": {"trial": "0001"},
    "an event of an unknown trial": _finish(trial="9999"),
    "a segment of an unknown trial": _segment(trial="9999"),
    "an encore of an unknown trial": {"event": "encore", "of": "9999", "rows": 1, "seconds": 1.0},
    "a trial that is a list": _finish(trial=["0001"]),
    "a trial that is a number": {"event": "suggest", "trial": 1, "config": {}},
    "a trial whose name leads out": {"event": "suggest", "trial": "../../x", "config": {}},
    "a config that is a list": {"event": "suggest", "trial": "0001", "config": []},
    "a suggestion without a config": {"event": "suggest", "trial": "0001"},
    "a finish without a status": {"event": "finish", "trial": "0001"},
    "a status that is none": _finish(status="perfect"),
    "a status that is a list": _finish(status=[]),
    "a score that is a word": _finish(score="good"),
    "a score that is a list": _finish(score=[1]),
    "a score that is true": _finish(score=True),
    "draws that are a number": _finish(draws=5),
    "draws that are words": _finish(draws=["a"]),
    "parameters below zero": _finish(parameters=-5),
    "parameters that are a word": _finish(parameters="many"),
    "a report that is a list": _finish(report=[1]),
    "a report's score that is a word": _finish(report={"score": "good"}),
    "an interval of one": _finish(report={"score": 0.5, "interval": [0.1]}),
    "an interval of words": _finish(report={"score": 0.5, "interval": ["a", "b"]}),
    "metrics that are a list": _finish(report={"score": 0.5, "metrics": [1]}),
    "metrics that are words": _finish(report={"score": 0.5, "metrics": {"f1": "good"}}),
    "a segment without rows": {k: v for k, v in _segment().items() if k != "rows"},
    "rows that are a word": _segment(rows="many"),
    "rows below zero": _segment(rows=-5),
    "checks that are a number": _segment(checks=5),
    "checks that are numbers": _segment(checks=[5]),
    "a check without a score": _segment(checks=[{"rows": 3}]),
    "a finding that is a list": _segment(found=[1]),
    "a finding that is empty": _segment(found={}),
    "seconds that are a word": _segment(seconds="long"),
    "an end without seconds": {"event": "end"},
    "an end whose seconds are a list": {"event": "end", "seconds": [1]},
    "an end whose seconds are words": {"event": "end", "seconds": {"total": "long"}},
    "an end whose memory is words": {"event": "end", "seconds": {}, "memory": {"a": "b"}},
    "a time that is a word": _finish(at="noon"),
    "an encore that is a list": {"event": "encore", "of": "0001", "rows": 1, "seconds": 1.0, "bagged": [1]},
    "a study that is null": {"event": "study", "study": None},
    "a study that is a list": {"event": "study", "study": []},
    "a study event without one": {"event": "study"},
    "events that are a number": {"events": 5},
    "events that are numbers": {"events": [1]},
    "a round of an unknown trial": {
        "event": "round",
        "orders": [{"trials": ["9999"], "stop": 3, "score": []}],
    },
    "a pack of an unknown trial": {"event": "scoring", "packs": [["9999"]]},
    "a segment that does not say whether it has learned": {
        k: v for k, v in _segment().items() if k != "has_learned"
    },
    "a check without a loss": _segment(checks=[{"position": 3, "rows": 48, "score": 0.5, "loss": None}]),
    "an encore of nothing": {"event": "encore", "of": "0001", "rows": 1, "seconds": 1.0, "bagged": None},
    "an event that is a number": {"event": 5},
    "an event that is a list": {"event": []},
}

LINES: dict[str, str | bytes] = {
    "a line that is no JSON": "{this is none}",
    "a line cut off": '{"event": "fin',
    "a line without end": '{"event":' + "[" * 100_000,
    "a line nested by 900": '{"event": "suggest", "trial": "x", "config": ' + "[" * 900 + "]" * 900 + "}",
    "a line of 5,000 digits": f'{{"event": "suggest", "trial": "0009", "config": {{"a": {"9" * 5000}}}}}',
    "a key twice": '{"event": "end", "event": "end", "seconds": {}}',
    "half a character": '{"event": "suggest", "trial": "\\ud800", "config": {}}',
    "a number that is none": json.dumps(_finish(score=NAN)),
    "a number without end": json.dumps(_finish(score=float("inf"))),
    "a number of 1e400": json.dumps(_finish(score=0.5)).replace('"score": 0.5', '"score": 1e400', 1),
    "no text": b'{"event": "\xff\xfe"}',
    "an empty object": "{}",
}

STUDIES: dict[str, Change] = {
    "trials that are a word": put("trials", value="many"),
    "trials below zero": put("trials", value=-3),
    "a name that is a number": put("name", value=5),
    "a space that is a list": put("space", value=[]),
    "a store that is a number": put("store", value=5),
    "a store with a zero byte": put("store", value="a\0b"),
    "a store that is another": put("store_digest", value="xxh3:0"),
    "a task that is a word": put("task", value="mrpc"),
    "a task without a name": drop("task", "name"),
    "encoder parameters that are a word": put("encoder_parameters", value="many"),
    "encoder parameters below zero": put("encoder_parameters", value=-1),
    "a baseline that is a list": put("baseline", value=[1]),
    "a baseline of words": put("baseline", value={"select_score": "good", "report_score": "good"}),
    "folds that are a word": put("folds", value="five"),
    "folds of zero": put("folds", value=0),
    "a data fraction of two": put("data_fraction", value=2.0),
    "a data fraction that is a word": put("data_fraction", value="half"),
    "versions that are a list": put("versions", value=[1]),
    "versions that are numbers": put("versions", value={"python": 3}),
    "an objective that is a list": put("objective", value=[1]),
    "a seed that is a word": put("seed", value="one"),
    "an id that is null": put("id", value=None),
    "a searcher that is a list": put("searcher", value=[]),
    "another version": put("format_version", value=7),
    "an unknown field": put("colour", value="red"),
    "a field less": drop("space"),
}


def _ensemble(value: Any) -> Forge:
    return lambda run: (run / "ensemble.json").write_text(json.dumps(value))


def _member(**more: Any) -> dict[str, Any]:
    return {"name": "0001", "run": ".", "trial": "0001", "weight": 1.0, **more}


def _of(*members: Any, **more: Any) -> Forge:
    return _ensemble(
        {
            "format_version": 1,
            "method": "mean",
            "members": list(members),
            "select_score": 0.5,
            "score": 0.5,
            "heads": 3,
            **more,
        }
    )


ENSEMBLES: dict[str, Forge] = {
    "an empty object": _ensemble({}),
    "a list": _ensemble([]),
    "null": _ensemble(None),
    "a weight that is no number": _of(_member(weight=NAN), _member(trial="0002")),
    "a weight of 1e400": lambda run: (run / "ensemble.json").write_text(
        json.dumps(
            {"format_version": 1, "method": "mean", "members": [_member()], "select_score": 1, "score": 1}
        ).replace('"weight": 1.0', '"weight": 1e400')
    ),
    "a weight below zero": _of(_member(weight=-1.0), _member(trial="0002")),
    "weights of zero": _of(_member(weight=0.0), _member(trial="0002", weight=0.0)),
    "a weight that is a word": _of(_member(weight="much")),
    "no members": _of(),
    "members that are a word": _of(members="all"),
    "a member that is a word": _of("0001"),
    "a member without a trial": _of({"name": "a", "run": ".", "weight": 1.0}),
    "a trial that is nowhere": _of(_member(trial="9999"), _member()),
    "a trial that leads out": _of(_member(trial="../../x"), _member()),
    "a trial that is a number": _of(_member(trial=5)),
    "a run that is nowhere": _of(_member(run="../nowhere"), _member()),
    "a run that is a number": _of(_member(run=5)),
    "a run with a zero byte": _of(_member(run="a\0b")),
    "a method that is none": _of(_member(), method="magic"),
    "a method that is a list": _of(_member(), method=[]),
    "a select score that is a word": _of(_member(), _member(trial="0002"), select_score="good"),
    "heads that are a word": _of(_member(), _member(trial="0002"), heads="many"),
    "another version": _of(_member(), format_version=99),
    "a key twice": lambda run: (run / "ensemble.json").write_text('{"method": "mean", "method": "max"}'),
    "nested": lambda run: (run / "ensemble.json").write_text('{"a":' * 50_000),
    "no text": lambda run: (run / "ensemble.json").write_bytes(b"\xff"),
}


def _report(room: Room, forge: Forge) -> list[str]:
    run = room.run()
    forge(run)
    return ["report", str(run), "--no-mlflow"]


def _piped(name: str) -> Callable[[Room], list[str]]:
    def make(room: Room) -> list[str]:
        run = room.run()
        room.replace_by_pipe(run / name)
        return ["report", str(run), "--no-mlflow"]

    return make


def _ensemble_pipe(room: Room) -> list[str]:
    run = room.run()
    room.pipe("run/ensemble.json")
    return ["report", str(run), "--no-mlflow"]


def _resume(room: Room, forge: Forge) -> list[str]:
    run = room.run()
    forge(run)
    return ["tune", "--resume", str(run)]


def _cases() -> Iterator[Case]:
    for name, event in EVENTS.items():
        yield Case(name=name, make=given(_report, forging(forge_event, event)))
    for name, line in LINES.items():
        yield Case(name=f"line: {name}", make=given(_report, forging(forge_line, line)))
    for name, change in STUDIES.items():
        yield Case(name=f"study: {name}", make=given(_report, forging(forge_study, change)))
    for name, forge in ENSEMBLES.items():
        yield Case(name=f"ensemble: {name}", make=given(_report, forge))
    for name in ("journal.jsonl", "trials/0001/report.parquet"):
        yield Case(name=f"a pipe for {name}", make=_piped(name))
    yield Case(name="a pipe for ensemble.json", make=_ensemble_pipe)
    for name in ("a space that is a list", "folds that are a word", "trials that are a word"):
        yield Case(name=f"resumed: {name}", make=given(_resume, forging(forge_study, STUDIES[name])))
    yield Case(
        name="resumed: a space of nothing",
        make=lambda room: _resume(room, lambda run: forge_study(run, put("space", value={}))),
    )
    yield Case(
        name="resumed: a searcher that is none",
        make=lambda room: _resume(room, lambda run: forge_study(run, put("searcher", value="magic"))),
    )
    yield Case(name="nowhere", make=lambda room: ["report", "nowhere"])
    yield Case(name="a name with a zero byte", make=lambda room: ["report", "a\0b"])
    yield Case(name="a pipe", make=lambda room: ["report", room.pipe("run")])
    yield Case(name="a journal that is nothing", make=given(_report, _empty))


def _empty(run: Path) -> None:
    (run / "journal.jsonl").write_bytes(b"")


JOURNALS = tuple(_cases())
