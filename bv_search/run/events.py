"""The events of a journal, as those that read them take them; further keys of an event are let be."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from bv_search.document import Count, Number, Range, Text
from bv_search.errors import RunError
from bv_search.files import decode_at
from bv_search.run.journal import DAMAGED

Name = Annotated[
    str, Range("the name of a trial", lambda value: bool(value.strip(".")) and not set(value) & set("/\\\0"))
]
Status = Literal["running", "done", "stopped", "failed"]


@dataclass(frozen=True, kw_only=True)
class Suggest:
    trial: Name
    config: Mapping[str, Any]
    rung: Text | None = None
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class Found:
    position: Count
    rows: Count
    score: float
    loss: float


@dataclass(frozen=True, kw_only=True)
class Segment:
    trial: Name
    position: Count
    rows: Count
    found: Found | None
    checks: tuple[Found, ...]
    seconds: Number
    state: Text  # the digest of what it is then
    has_learned: bool
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class OrderEntry:
    trials: tuple[Name, ...]
    stop: Count
    score: tuple[Name, ...]


@dataclass(frozen=True, kw_only=True)
class RoundEvent:
    orders: tuple[OrderEntry, ...]
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class Packs:
    packs: tuple[tuple[Name, ...], ...]
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class Halt:
    trial: Name
    status: Status
    cut: bool = False
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class ReportEntry:
    score: float | None = None
    interval: tuple[float, float] | None = None
    metrics: Mapping[str, float | None] | None = None


@dataclass(frozen=True, kw_only=True)
class OutcomeEntry:
    status: Status
    score: float | None = None
    loss: float | None = None
    draws: tuple[float, ...] = ()
    parameters: Count | None = None
    report: ReportEntry | None = None
    files: Mapping[str, Text] = field(default_factory=dict)  # their digests
    reason: str | None = None
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class Finish(OutcomeEntry):
    trial: Name


@dataclass(frozen=True, kw_only=True)
class EncoreEvent:
    of: Name
    rows: Count
    seconds: Number
    bagged: OutcomeEntry
    single: OutcomeEntry = field(default_factory=lambda: OutcomeEntry(status="failed"))
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class Begin:
    study: Mapping[str, Any]  # decoded as a Study, where it is one that counts
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class End:
    seconds: Mapping[str, Number | None]
    memory: Mapping[str, Count] | None = None
    why: str | None = None
    at: Number = 0.0


@dataclass(frozen=True, kw_only=True)
class ToldEvent:
    run: str
    trial: str
    store: str
    config: Mapping[str, Any]
    score: float
    at: Number = 0.0


EVENTS: dict[str, type] = {
    "suggest": Suggest,
    "segment": Segment,
    "round": RoundEvent,
    "scoring": Packs,
    "finale": Packs,
    "halt": Halt,
    "finish": Finish,
    "encore": EncoreEvent,
    "study": Begin,
    "end": End,
    "told": ToldEvent,
}


def check_events(events: Sequence[Mapping[str, Any]], where: object) -> None:
    """Refuse what no search writes: a checksum says only that a line is as it was written."""
    known: set[str] = set()
    for number, event in enumerate(events, start=1):
        place = f"{where} event {number}"
        name = event.get("event")
        if not isinstance(name, str):
            raise RunError("makes no sense", where=place, expected="an event", found=repr(name), do=DAMAGED)
        if name in EVENTS:
            decode_at(EVENTS[name], event, RunError, where=place, do=DAMAGED, more=True)
        if name == "suggest":
            known.add(event["trial"])
        _refuse_unknown(known, _trials(name, event), place)


def _trials(name: str, event: Mapping[str, Any]) -> Iterable[str]:
    """Those that it is about, and that must have been suggested before it."""
    match name:
        case "segment" | "halt" | "finish":
            return [event["trial"]]
        case "encore":
            return [event["of"]]
        case "round":
            return [trial for order in event["orders"] for trial in order["trials"]]
        case "scoring" | "finale":
            return [trial for pack in event["packs"] for trial in pack]
    return []


def _refuse_unknown(known: set[str], trials: Iterable[str], place: str) -> None:
    for trial in trials:
        if trial not in known:
            raise RunError(
                "is of a trial that was never suggested", where=place, found=repr(trial), do=DAMAGED
            )
