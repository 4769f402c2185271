"""Whatever stands in a document, its decoder gives what it is or one line on what it is not, and soon."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings

from bv_search.encoder.stage import read_stage
from bv_search.errors import LONGEST, UserError
from bv_search.files import digest_json, write_signed
from bv_search.heads.copies import load_heads
from bv_search.heads.folder import read_config
from bv_search.run.folder import Run
from bv_search.space.space import find_space, shipped_spaces
from bv_search.store.store import Store
from bv_search.tasks.registry import find_task
from bv_search.tune.resume import read_past, read_round
from tests.hostile.forged import near
from tests.hostile.room import Room, forge_event

SECONDS = 1.0  # of a processor
FEW, MANY = 25, 1500  # documents of each kind, in each run of the tests and by --slow

Json = Any
Decode = Callable[[Json], object]


@dataclass(frozen=True, kw_only=True)
class Border:
    """Sound documents of a kind, words that mean something in it, and who decodes what is near them."""

    sound: list[Json]
    decode: Decode
    words: tuple[str, ...] = ()


def _written(path: Path, value: Json) -> Path:
    path.write_text(json.dumps(value))
    return path


def _signed(path: Path, value: Json) -> Path:
    """With its digest, where it is one that can have any."""
    if isinstance(value, dict):
        write_signed(path, value)
        return path
    return _written(path, value)


def spaces(room: Room) -> Border:
    def decode(value: Json) -> object:
        return find_space(str(_yaml(room, value))).typed_corners()

    sound = [yaml.safe_load(path.read_text()) for path in shipped_spaces().values()]
    words = (
        "choice",
        "grid",
        "uniform",
        "loguniform",
        "quniform",
        "kind",
        "adapter",
        "pooling",
        "head",
        "space",
    )
    return Border(sound=sound, decode=decode, words=words)


def tasks(room: Room) -> Border:
    columns = {"text": "question", "text_pair": "sentence", "label": "label", "group": "sentence"}
    sound = [
        {
            "kind": "classification",
            "columns": columns,
            "labels": ["no", "yes"],
            "metric": "f1",
            "max_length": 64,
        },
        {"kind": "regression", "columns": columns, "metric": "pearson"},
        {"kind": "span", "max_length": 64, "stride": 16, "metric": "f1"},
    ]
    return Border(sound=sound, decode=lambda value: find_task(str(_yaml(room, value))))


def _yaml(room: Room, value: Json) -> Path:
    path = room.place / "it.yaml"
    path.write_text(yaml.safe_dump(value, allow_unicode=True))
    return path


def manifests(room: Room) -> Border:
    place = room.store(room.classes)

    def decode(value: Json) -> object:
        if isinstance(value, dict):
            body = {name: item for name, item in value.items() if name != "digest"}
            value = {**body, "digest": digest_json(body)}
        (place / "manifest.json").write_text(json.dumps(value, indent=1) + "\n")
        return Store.open(str(place))

    return Border(sound=[json.loads((place / "manifest.json").read_text())], decode=decode)


def journals(room: Room) -> Border:
    run = room.run()
    sound = (run / "journal.jsonl").read_bytes()

    def decode(events: Json) -> object:
        (run / "journal.jsonl").write_bytes(sound)
        for event in events if isinstance(events, list) else [events]:
            if isinstance(event, dict):
                forge_event(run, event)
        opened = Run.open(run)
        past = read_past(opened.events())
        told = opened.trials(), opened.seconds(), opened.memory(), read_round(opened.events(), past)
        return told, [each.typed_config for each in past]

    events = Run.open(run).events()
    kinds = {event["event"]: event for event in events}
    return Border(sound=[*([event] for event in kinds.values()), *EVENTS], decode=decode, words=tuple(kinds))


CHECK = {"position": 3, "rows": 48, "score": 0.5, "loss": 0.5}
EVENTS: list[Json] = [
    [{"event": "suggest", "trial": "9", "config": {"head": {"kind": "pooling"}, "learning_rate": 0.1}}],
    [{"event": "round", "orders": [{"trials": ["0001"], "stop": 3, "score": ["0001"]}]}],
    [{"event": "scoring", "packs": [["0001", "0002"]]}],
    [{"event": "halt", "trial": "0001", "status": "done", "cut": False}],
    [
        {
            "event": "segment",
            "trial": "0001",
            "position": 3,
            "rows": 48,
            "found": CHECK,
            "checks": [CHECK],
            "seconds": 1.0,
            "state": "xxh3:0",
            "has_learned": False,
        }
    ],
    [{"event": "end", "seconds": {"total": 1.0}, "memory": {"peak_scan_worker": 5}, "why": None}],
]


def heads(room: Room) -> Border:
    folder = room.head()

    def decode(value: Json) -> object:
        _signed(folder / "config.json", value)
        return load_heads(folder)

    return Border(sound=[read_config(folder)], decode=decode, words=("adapter", "xception", "kind", "size"))


def stages(room: Room) -> Border:
    place = room.stage()

    def decode(value: Json) -> object:
        _written(place / "stage.json", value)
        return read_stage(place)

    return Border(sound=[json.loads((place / "stage.json").read_text())], decode=decode)


def ensembles(room: Room) -> Border:
    run = Run.open(room.run())
    member = {"name": "0001", "run": "run", "trial": "0001", "weight": 1.0}
    sound = {
        "format_version": 2,
        "method": "greedy",
        "members": [member, {**member, "trial": None}],
        "score": 0.5,
        "select_score": 0.5,
        "heads": 3,
    }

    def decode(value: Json) -> object:
        _signed(run.path / "ensemble.json", value)
        return run.ensemble()

    return Border(sound=[sound], decode=decode, words=("single", "max", "mean"))


BORDERS = [spaces, tasks, manifests, journals, heads, stages, ensembles]


@pytest.mark.parametrize("make", BORDERS, ids=lambda make: make.__name__)
def test_what_is_near_a_document_is_decoded_or_refused(make: Callable[[Room], Border], room: Room) -> None:
    check(make(room), FEW)


@pytest.mark.slow
@pytest.mark.parametrize("make", BORDERS, ids=lambda make: make.__name__)
def test_hundreds_of_forged_documents_are_decoded_or_refused(
    make: Callable[[Room], Border], room: Room
) -> None:
    check(make(room), MANY)


def check(border: Border, count: int) -> None:
    @settings(
        max_examples=count,
        deadline=None,  # a second of a processor's is asked for; others may want the machine too
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(value=near(border.sound, [*border.words, *_words(border.sound)]))
    def is_answered(value: Json) -> None:
        begun, line = time.thread_time(), ""
        try:
            border.decode(value)
        except UserError as error:
            line = str(error)
        assert time.thread_time() - begun < SECONDS
        assert len(line) <= LONGEST
        assert line.isprintable()

    for value in border.sound:
        border.decode(value)
    is_answered()


def _words(value: Json) -> list[str]:
    """All keys and texts of a document."""
    if isinstance(value, dict):
        return [*value, *(word for item in value.values() for word in _words(item))]
    if isinstance(value, list):
        return [word for item in value for word in _words(item)]
    return [value] if isinstance(value, str) else []
