"""A warm start: what earlier runs of the same space found, told to a new search before it proposes.

Scores of another store or task count too, as they are, where the metric is the same: heads that are good on
one stage of an encoder tend to be good on the next.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bv_search.errors import RunError, UserError
from bv_search.run.folder import Run
from bv_search.space.space import Config, Space
from bv_search.store.store import Store
from bv_search.tune.searchers import SEARCHERS

TOLD = "told"  # an event of the journal, so that the earlier runs are needed no more


@dataclass(frozen=True, kw_only=True)
class Told:
    run: str
    trial: str
    store: str  # its digest
    config: Config
    score: float  # on select

    def to_event(self) -> dict[str, Any]:
        return {"event": TOLD, **asdict(self)}


def read_told(events: Sequence[Mapping[str, Any]]) -> list[Told]:
    fields = Told.__dataclass_fields__
    return [Told(**{name: event[name] for name in fields}) for event in events if event["event"] == TOLD]


def gather(places: Sequence[Path], searcher: str, space: Space, store: Store) -> list[Told]:
    """Their finished trials, run by run in the order of suggestion."""
    if places and SEARCHERS[searcher].startup_points is None:
        learning = [name for name, each in SEARCHERS.items() if each.startup_points is not None]
        raise UserError(
            f"a {searcher} search learns nothing from earlier runs",
            expected=f"--searcher {', '.join(learning)}",
            do="name one of them, or leave out --warm-start",
        )
    return [told for run in Run.open_each(places) for told in _finished(run, space, store)]


def _finished(run: Run, space: Space, store: Store) -> list[Told]:
    if run.study.space["space"] != space.document["space"]:
        raise RunError(
            "searched another space",
            where=run.path,
            expected=f"the choices of {space.name} as they are here",
            found=f"those of {run.study.space['name']}, which differ",
            do="leave it out of --warm-start",
        )
    expected, found = store.manifest.task["metric"], run.study.task["metric"]
    if found != expected:
        raise RunError(
            "has scores of another metric",
            where=run.path,
            expected=expected,
            found=found,
            do="leave it out of --warm-start",
        )
    told = [
        Told(
            run=run.name,
            trial=record.id,
            store=run.study.store_digest,
            config=dict(record.config),
            score=record.score or 0.0,
        )
        for record in run.trials()
        if record.is_searched and record.answers
    ]
    if not told:
        raise RunError("has no finished trial to tell of", where=run.path, do="leave it out of --warm-start")
    return told


def sentence(told: Sequence[Told], store: Store) -> str:
    runs = ", ".join(dict.fromkeys(each.run for each in told))
    text = f"told of {len(told)} trials of {runs}"
    elsewhere = sum(each.store != store.digest for each in told)
    return f"{text}, {elsewhere} of them on another store" if elsewhere else text
