"""A trial: one head's way through a run, replayed from the journal's events."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

RUNNING, DONE, STOPPED, FAILED = "running", "done", "stopped", "failed"
FINISHED = frozenset({DONE, STOPPED, FAILED})
BAGGED, SINGLE = "bagged", "single"  # what is made of a finalist: the mean of its copies, the first alone


@dataclass(frozen=True, kw_only=True)
class CurvePoint:
    """What a head was worth on `select` after so many rows."""

    rows: int
    score: float
    loss: float
    at: float = 0.0  # seconds since 1970


@dataclass(frozen=True, kw_only=True)
class TrialRecord:
    id: str
    config: Mapping[str, Any]  # as the search space gave it
    rung: str | None = None  # of the ladder, where no search proposed it
    of: str | None = None  # the trial whose head learned once more, from select too, and became this one …
    made: str | None = None  # … bagged or single; its score and loss on select are those of that trial
    status: str = RUNNING  # running | done | stopped | failed
    rows: int = 0  # of the train split, seen so far
    score: float | None = None  # on select
    loss: float | None = None  # on select, mean over windows
    draws: tuple[float, ...] = ()  # its score on other rows like those of select, the same for all trials
    report_score: float | None = None
    interval: tuple[float, float] | None = None  # 95 %, of the report score
    metrics: Mapping[str, float] = field(default_factory=dict)  # on report
    parameters: int | None = None
    percent: float | None = None  # of the encoder's parameters
    seconds: float = 0.0  # of this head's share in passes
    reason: str | None = None  # why it failed
    files: Mapping[str, str] = field(default_factory=dict)  # that it left, and their digests
    curve: tuple[CurvePoint, ...] = ()
    suggested: float = 0.0  # seconds since 1970
    finished_at: float | None = None

    @property
    def is_searched(self) -> bool:
        """No rung of the ladder, and nothing that was made of another trial."""
        return self.rung is None and self.of is None

    @property
    def finished(self) -> bool:
        return self.status in FINISHED

    @property
    def answers(self) -> bool:
        """Whether the trial ended with a head that has a score on report."""
        return self.status in {DONE, STOPPED} and self.score is not None and self.report_score is not None


def replay(
    events: Iterable[Mapping[str, Any]],
    *,
    encoder_parameters: int | None = None,
    before: Mapping[str, TrialRecord] | None = None,
) -> dict[str, TrialRecord]:
    """The state of every trial, in the order of suggestion; `before` is what earlier events made of them."""
    records: dict[str, TrialRecord] = dict(before or {})
    for event in events:
        match event["event"]:
            case "suggest":
                records[event["trial"]] = TrialRecord(
                    id=event["trial"],
                    config=event["config"],
                    rung=event.get("rung"),
                    suggested=event.get("at", 0.0),
                )
            case "segment":
                records[event["trial"]] = _after_segment(records[event["trial"]], event)
            case "finish":
                records[event["trial"]] = _after_finish(records[event["trial"]], event, encoder_parameters)
            case "encore":
                for record in _encores(records[event["of"]], event, encoder_parameters):
                    records[record.id] = record
    return records


def encore_name(trial: str, made: str) -> str:
    return f"{trial}-{made}"


def _encores(
    origin: TrialRecord, event: Mapping[str, Any], encoder_parameters: int | None
) -> Iterator[TrialRecord]:
    """It has learned from the rows of select: what they say of it is what they said of its trial."""
    for made in (BAGGED, SINGLE):
        if made in event:
            record = TrialRecord(
                id=encore_name(origin.id, made),
                config=origin.config,
                of=origin.id,
                made=made,
                rows=event["rows"],
                seconds=event["seconds"],
                suggested=event.get("at", 0.0),
            )
            ended = {"at": event.get("at"), **event[made]}
            if ended["status"] == DONE:
                ended |= {"score": origin.score, "loss": origin.loss, "draws": origin.draws}
            yield _after_finish(record, ended, encoder_parameters)


def _after_segment(record: TrialRecord, event: Mapping[str, Any]) -> TrialRecord:
    found = event["found"]
    points = [_point(check, event) for check in event["checks"]]
    if found is not None and found["position"] == event["position"]:
        points.append(_point(found, event))
    known = {point.rows for point in record.curve}
    return replace(
        record,
        rows=event["rows"],
        score=record.score if found is None else found["score"],
        loss=record.loss if found is None else found["loss"],
        seconds=record.seconds + event["seconds"],
        curve=(*record.curve, *{point.rows: point for point in points if point.rows not in known}.values()),
    )


def _point(check: Mapping[str, Any], event: Mapping[str, Any]) -> CurvePoint:
    return CurvePoint(rows=check["rows"], score=check["score"], loss=check["loss"], at=event.get("at", 0.0))


def _after_finish(
    record: TrialRecord, event: Mapping[str, Any], encoder_parameters: int | None
) -> TrialRecord:
    report = event.get("report") or {}
    interval = report.get("interval")
    parameters = event.get("parameters")
    return replace(
        record,
        status=event["status"],
        score=event.get("score"),
        loss=event.get("loss"),
        draws=tuple(event.get("draws", ())),
        report_score=report.get("score"),
        interval=(interval[0], interval[1]) if interval else None,
        metrics=report.get("metrics") or {},
        parameters=parameters,
        percent=percent_of(parameters, encoder_parameters),
        reason=event.get("reason"),
        files=event.get("files", {}),
        finished_at=event.get("at"),
    )


def percent_of(parameters: int | None, encoder_parameters: int | None) -> float | None:
    if parameters is None or not encoder_parameters:
        return None
    return 100.0 * parameters / encoder_parameters
