"""An entry: a model at a stage, as the mean over the seeds that it was trained with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import Any

import numpy as np

from bv_search.heads.config import HeadConfig, head_from_json
from bv_search.run.folder import Run
from bv_search.run.leaderboard import flat
from bv_search.run.trial import TrialRecord
from bv_search.scan.ladder import PROBE

WINNER_TITLE = "winner of the search"


@dataclass(frozen=True, kw_only=True, eq=False)
class Entry:
    """Trials of one run that differ in their seed alone."""

    run: Run
    stage: float
    title: str
    records: tuple[TrialRecord, ...]  # that ended with a head, by their seeds; at least one

    @property
    def is_winner(self) -> bool:
        """Of a stage's search, not of the grid."""
        return self.title == WINNER_TITLE

    @property
    def config(self) -> Mapping[str, Any]:
        return self.records[0].config

    @property
    def head(self) -> HeadConfig:
        return head_from_json(self.config["head"])

    @property
    def first(self) -> TrialRecord:
        """With the first seed: what stands for the entry where one head must."""
        return self.records[0]

    @property
    def parameters(self) -> int:
        return self.first.parameters or 0

    @property
    def percent(self) -> float | None:
        return self.first.percent

    @property
    def share(self) -> float:
        """Of the rows that it could learn from."""
        return float(self.config.get("data_fraction", 1.0))

    @cached_property
    def select(self) -> float:
        return fmean(record.score or 0.0 for record in self.records)

    @cached_property
    def report(self) -> float:
        return fmean(record.report_score or 0.0 for record in self.records)

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """95 %, of the rows of report: the mean of what each seed has."""
        found = [record.interval for record in self.records if record.interval is not None]
        return (fmean(low for low, _ in found), fmean(high for _, high in found)) if found else None

    @cached_property
    def spread(self) -> float | None:
        """Standard deviation between the seeds, on report."""
        scores = [record.report_score or 0.0 for record in self.records]
        return stdev(scores) if len(scores) > 1 else None

    @cached_property
    def error(self) -> float:
        """Standard error of `select`: how far it would move with other rows like these."""
        draws = [record.draws for record in self.records if record.draws]
        return float(np.mean(draws, axis=0).std(ddof=1)) if draws else 0.0

    @cached_property
    def metrics(self) -> dict[str, float]:
        """On report."""
        names = dict.fromkeys(name for record in self.records for name in record.metrics)
        return {name: fmean(record.metrics.get(name, 0.0) for record in self.records) for name in names}


def entries_of(run: Run, stage: float, title: str | None = None) -> list[Entry]:
    """A run's searched heads, those that differ in their seeds alone together, in the order of suggestion."""
    groups: dict[str, list[TrialRecord]] = {}
    for record in run.trials():
        if record.is_searched and record.answers:
            groups.setdefault(_without_seed(record.config), []).append(record)
    return [
        Entry(run=run, stage=stage, title=title or title_of(group[0]), records=_by_seed(group))
        for group in groups.values()
    ]


def probes_of(run: Run, stage: float, channels: Sequence[str]) -> list[Entry]:
    """The ladder's linear probes, which need no search and no seeds."""
    return [
        Entry(run=run, stage=stage, title=_probe_title(record, channels), records=(record,))
        for record in run.trials()
        if record.rung == PROBE and record.answers
    ]


def _probe_title(record: TrialRecord, channels: Sequence[str]) -> str:
    channel = record.config["head"]["channels"]
    return f"linear probe of {channels[channel] if isinstance(channel, int) else 'all layers'}"


def best_entry(entries: Iterable[Entry]) -> Entry:
    """On select; of equals the smaller."""
    return max(entries, key=lambda entry: (entry.select, -entry.parameters))


def title_of(record: TrialRecord) -> str:
    return head_from_json(record.config["head"]).name


def _without_seed(config: Mapping[str, Any]) -> str:
    return repr(sorted((name, value) for name, value in flat(config).items() if name != "seed"))


def _by_seed(records: Sequence[TrialRecord]) -> tuple[TrialRecord, ...]:
    return tuple(sorted(records, key=lambda record: int(record.config.get("seed", 0))))
