"""Heads as columns of values: the data of the charts that are linked, as `linked.js` reads it."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, Literal

from bv_search.model.standings import Standing
from bv_search.report.effects import MANY, Effect
from bv_search.run.leaderboard import flat
from bv_search.run.trial import TrialRecord

Value = float | int | str | bool | None
Scale = Literal["linear", "log", "levels"]
MOST_AXES = 7  # hyperparameters; the least of them stand on the leaderboard only
BENT = 30  # times the least of some values the greatest is, from which on their axis counts decades
GROUP, LADDER = "head", "ladder"
REPORT, SELECT = "report", "select"
SHARE = "data_fraction"
APART = ("head.kind", SHARE)  # of a config: told by columns of their own


@dataclass(frozen=True, kw_only=True)
class Column:
    """What is known of each head under one name; None where there is nothing to know."""

    key: str
    title: str
    values: Sequence[Value]
    bends: bool = True  # its axis may count decades, which that of a score never does

    @property
    def scale(self) -> Scale:
        known = self.known
        if any(isinstance(value, str | bool) for value in known):
            return "levels"
        if self.bends and known and min(known) > 0 and max(known) >= BENT * min(known):
            return "log"
        return "linear"

    @property
    def varies(self) -> bool:
        return len(set(map(_hashable, self.known))) > 1

    @property
    def known(self) -> list[Any]:
        return [value for value in self.values if value is not None]

    def to_json(self) -> dict[str, Any]:
        scale = self.scale
        found = {"key": self.key, "title": self.title, "scale": scale}
        if scale != "levels":
            return {**found, "values": list(self.values)}
        levels = sorted({_name(value) for value in self.known}, key=_order)
        place = {level: number for number, level in enumerate(levels)}
        values = [None if value is None else place[_name(value)] for value in self.values]
        return {**found, "levels": levels, "values": values}


@dataclass(frozen=True, kw_only=True)
class HeadColumns:
    """Heads side by side, of one run or of several."""

    ids: Sequence[str]
    drawn: Sequence[Column]  # hyperparameters, those that matter most at the end
    measured: Sequence[Column]  # sizes, costs and scores
    across: Sequence[str]  # keys that a score is drawn against, the first at first
    up: Sequence[str]  # keys of scores
    group: Column  # what tells heads apart by colour and shape
    intervals: Mapping[str, Sequence[tuple[float, float] | None]]
    rungs: Sequence[Mapping[str, Any]] = ()

    def to_json(self) -> dict[str, Any]:
        """None of no value; whatever is no number, is none."""
        needed = (self.across[0], *self.up)
        useful = [each for each in self.measured if each.known and (each.varies or each.key in needed)]
        keys = {column.key for column in useful}
        columns = [self.group, *self.drawn, *useful]
        return {
            "noun": "heads",
            "ids": list(self.ids),
            "columns": [column.to_json() for column in columns],
            "axes": [column.key for column in columns if column.varies and column.key != "rows"],
            "x": [key for key in self.across if key in keys],
            "y": [key for key in self.up if key in keys],
            "group": self.group.key,
            "intervals": {key: list(pairs) for key, pairs in self.intervals.items()},
            "rungs": list(self.rungs),
        }


@dataclass(frozen=True, kw_only=True)
class BoardRow:
    """A line of a leaderboard."""

    id: str  # in the linked charts
    rank: int
    record: TrialRecord
    head: str
    before: Sequence[str] = ()  # cells in front


def columns_of(records: Sequence[TrialRecord], effects: Sequence[Effect] = ()) -> list[Column]:
    """What the heads were drawn as: one column for each hyperparameter that varies."""
    configs = [flat(record.config) for record in records]
    searched = [config for config, record in zip(configs, records, strict=True) if record.rung is None]
    names = dict.fromkeys(name for config in searched for name in config if name not in APART)
    columns = [
        _as_levels(
            Column(key=name, title=_short(name), values=[_plain(config.get(name)) for config in configs])
        )
        for name in names
    ]
    weight = {effect.name: effect.share for effect in effects}
    varied = [column for column in columns if _varies(column, records)]
    return sorted(varied, key=lambda column: weight.get(column.title, 0.0))[-MOST_AXES:]


def head_columns(
    records: Sequence[TrialRecord],
    effects: Sequence[Effect] = (),
    rungs: Sequence[Standing] = (),
    *,
    metric: str,
    share: float = 1.0,
) -> HeadColumns:
    """Of one run; `share` is how much of the data heads learn from that do not say so themselves."""
    return HeadColumns(
        ids=[record.id for record in records],
        drawn=columns_of(records, effects),
        measured=measures(records, metric, [share] * len(records)),
        across=("parameters", SHARE, "seconds", "rows"),
        up=(REPORT, SELECT),
        group=Column(key=GROUP, title=GROUP, values=[kind_of(record) for record in records]),
        intervals={REPORT: [record.interval for record in records]},
        rungs=[rung_line(rung) for rung in rungs],
    )


def measures(records: Sequence[TrialRecord], metric: str, shares: Sequence[float]) -> list[Column]:
    """What became of heads. A rung that was solved at once has seen no rows one by one."""
    own = [record.config.get(SHARE, share) for record, share in zip(records, shares, strict=True)]
    values: Mapping[str, tuple[str, Sequence[Value]]] = {
        SHARE: ("share of the data", own),
        "parameters": ("parameters", [record.parameters for record in records]),
        "rows": ("rows seen", [record.rows or None for record in records]),
        "seconds": ("seconds", [round(record.seconds, 3) or None for record in records]),
        SELECT: (f"{metric} on select", [_finite(record.score) for record in records]),
        REPORT: (f"{metric} on report", [_finite(record.report_score) for record in records]),
    }
    return [
        Column(key=key, title=title, values=found, bends=key not in (SELECT, REPORT))
        for key, (title, found) in values.items()
    ]


def rung_line(rung: Standing) -> dict[str, Any]:
    return {
        "title": rung.title,
        REPORT: _finite(rung.score),
        SELECT: _finite(rung.select_score),
        "interval": {REPORT: list(rung.interval)},
    }


def kind_of(record: TrialRecord) -> str:
    """The ladder's heads are told from the search's own."""
    if record.rung is not None:
        return LADDER
    head = record.config.get("head")
    return str(head.get("kind", "head")) if isinstance(head, Mapping) else "head"


def _varies(column: Column, records: Sequence[TrialRecord]) -> bool:
    """Among heads of the search: probes of the ladder have a channel each."""
    pairs = zip(column.values, records, strict=True)
    return Column(key="", title="", values=[value for value, record in pairs if record.rung is None]).varies


def _as_levels(column: Column) -> Column:
    """A few different whole numbers are steps, not a range."""
    known = set(column.known)
    few = 1 < len(known) <= MANY and all(isinstance(value, int | float) for value in known)
    mixed = any(isinstance(value, str | bool) for value in known)
    if not (few or mixed):
        return column
    values = [None if value is None else _name(value) for value in column.values]
    return Column(key=column.key, title=column.title, values=values)


def _short(name: str) -> str:
    return name.removeprefix("head.")


def _name(value: Value) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def _order(level: str) -> tuple[float, str]:
    try:
        return (float(level), level)
    except ValueError:
        return (float("inf"), level)


def _plain(value: Any) -> Value:
    return value if value is None or isinstance(value, str | bool | int | float) else str(value)


def _finite(value: float | None) -> float | None:
    return value if value is not None and isfinite(value) else None


def _hashable(value: Value) -> Hashable:
    return (type(value).__name__, value)
