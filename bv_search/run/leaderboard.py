"""The leaderboard: heads in the order of their score on `select`, which is what chose among them."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import stdev
from typing import Any

from bv_search.files import write_text
from bv_search.run.trial import BAGGED, SINGLE, TrialRecord

COLUMNS = (
    "rank", "trial", "rung", "of", "status", "select_score", "select_loss", "report_score", "report_low",
    "report_high", "parameters", "percent", "rows", "seconds", "reason",
)  # fmt: skip
ORDER = {BAGGED: 0, None: 1, SINGLE: 2}  # of what select says the same of, since one is made of the other
LEAST_PERCENT = 0.001  # of an encoder's parameters; below it a number says only that it is small


def leaderboard(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    """Best on select first; of equals the lower loss, then the smaller head; trials without a head last."""
    return sorted(records, key=rank_of)


def rank_of(record: TrialRecord) -> tuple[bool, bool, float, float, int, int, str]:
    """What a leaderboard is sorted by."""
    return (
        not record.answers,
        record.score is None,
        -(record.score or 0.0),
        record.loss or 0.0,
        ORDER[record.made],
        record.parameters or 0,
        record.id,
    )


def best(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    return [record for record in leaderboard(records) if record.answers]


def standard_error(record: TrialRecord) -> float:
    """Of its score on select: how far it would move with other rows like these."""
    return stdev(record.draws) if record.draws else 0.0


def smallest(records: Sequence[TrialRecord]) -> TrialRecord:
    """The head with the fewest parameters within one standard error of the best, on select."""
    ranked = best(records)
    least = (ranked[0].score or 0.0) - standard_error(ranked[0])
    enough = [record for record in ranked if (record.score or 0.0) >= least]
    return min(enough, key=lambda record: (record.parameters or 0, -(record.score or 0.0), record.id))


def summary(record: TrialRecord) -> dict[str, Any]:
    """A trial as the commands' JSON names it."""
    return {
        "trial": record.id,
        "of": record.of,
        "score": record.report_score,
        "select_score": record.score,
        "interval": list(record.interval) if record.interval else None,
        "parameters": record.parameters,
        "percent": record.percent,
        "config": dict(record.config),
    }


def leaderboard_rows(records: Iterable[TrialRecord]) -> list[dict[str, Any]]:
    return [_row(rank, record) for rank, record in enumerate(leaderboard(records), start=1)]


def _row(rank: int, record: TrialRecord) -> dict[str, Any]:
    low, high = record.interval or (None, None)
    values = (
        rank, record.id, record.rung, record.of, record.status, record.score, record.loss,
        record.report_score, low, high, record.parameters, record.percent, record.rows,
        round(record.seconds, 3), record.reason,
    )  # fmt: skip
    return {
        **dict(zip(COLUMNS, values, strict=True)),
        **{f"config.{key}": value for key, value in flat(record.config).items()},
    }


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """{"head": {"size": 64}} → {"head.size": 64}: one column, one parameter, one name."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping):
            found.update(flat(value, f"{name}."))
        else:
            found[name] = value
    return found


def write_leaderboard(
    path: Path, records: Iterable[TrialRecord], front: Iterable[TrialRecord] | None = None
) -> Path:
    """With a column that says who stands on the front, where there is one."""
    rows = leaderboard_rows(records)
    if front is not None:
        trials = {record.id for record in front}
        rows = [{**row, "front": "yes" if row["trial"] in trials else "no"} for row in rows]
    names = list(COLUMNS)
    for row in rows:
        names += [name for name in row if name not in names]
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, fieldnames=names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
    return path


def leaderboard_text(
    records: Iterable[TrialRecord], baseline: Mapping[str, Any] | None = None, *, limit: int = 10
) -> str:
    """A table for a terminal, the encoder's own score on top."""
    ranked = leaderboard(records)
    table: list[tuple[str, ...]] = [
        ("", "trial", "select", "report", "95 % interval", "parameters", "%", "head")
    ]
    if baseline is not None:
        table.append(
            ("", "encoder", *_scores(baseline["select_score"], baseline["report_score"]), "", "", "", "")
        )
    table += [_line(rank, record) for rank, record in enumerate(ranked[:limit], start=1)]
    text = _align(table)
    if len(ranked) > limit:
        text += f"\n… and {len(ranked) - limit} more"
    return text


def _line(rank: int, record: TrialRecord) -> tuple[str, ...]:
    interval = "{:.4f}–{:.4f}".format(*record.interval) if record.interval else ""
    return (
        str(rank),
        record.id,
        *_scores(record.score, record.report_score),
        interval,
        "" if record.parameters is None else f"{record.parameters:,}",
        _percent(record.percent),
        describe(record.config) if record.answers else record.reason or record.status,
    )


def _percent(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.3g}" if value >= LEAST_PERCENT else f"<{LEAST_PERCENT}"


def _scores(*scores: float | None) -> tuple[str, ...]:
    return tuple("" if score is None else f"{score:.4f}" for score in scores)


def describe(config: Mapping[str, Any]) -> str:
    """A config on one line, numbers short: "kind=adapter size=64 learning_rate=0.00131"."""
    return " ".join(
        f"{key.removeprefix('head.')}={value:.3g}"
        if isinstance(value, float)
        else f"{key.removeprefix('head.')}={value}"
        for key, value in flat(config).items()
    )


def _align(table: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[column]) for row in table) for column in range(len(table[0]))]
    right = {0, 2, 3, 5, 6}
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column in right else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in table
    )
