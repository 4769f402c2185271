"""Heads of one stage on the hidden states of another: scores that no run holds, in files of their own."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.command import Progress
from bv_search.document import Count, Text
from bv_search.errors import RunError, StoreError
from bv_search.files import decode_at, read_signed, write_signed
from bv_search.model.answer import check_store, head_logits
from bv_search.model.loading import model_of_run
from bv_search.scan.store_view import role_index
from bv_search.source.live import feed_live
from bv_search.store.store import Store
from bv_search.study.entry import Entry
from bv_search.tasks.row import Role
from bv_search.tasks.votes import mean_logits

FORMAT_VERSION = 1


@dataclass(frozen=True, kw_only=True)
class ExchangedScore:
    """A trial's on report, by another stage's hidden states."""

    run: Text
    trial: Text
    score: float  # a correlation may be below 0
    interval: tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class ExchangeFile:
    format_version: Count
    store: Text  # the digest of the one that was read
    scores: tuple[ExchangedScore, ...]
    why: Text | None = None  # there are none: the heads read other channels


def exchange(heads: list[Entry], store: Store, path: Path, progress: Progress) -> None:
    """Score every seed of these heads in one pass over the rows of report; written whole or not at all.

    An encoder as it comes may have no pooler, which fine-tuning adds: heads on one do not fit the other.
    """
    value: dict[str, Any] = {"format_version": FORMAT_VERSION, "store": store.digest}
    misfit = _misfit(heads, store)
    found = [] if misfit is not None else _scores(heads, store, progress)
    value |= {"scores": [vars(score) for score in found], "why": misfit}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_signed(path, value)


def _misfit(heads: list[Entry], store: Store) -> str | None:
    """Why they cannot read it; all of a run read the same."""
    first = heads[0]
    try:
        check_store(model_of_run(first.run, first.first.id), store)
    except StoreError as error:
        return str(error)
    return None


def _scores(heads: list[Entry], store: Store, progress: Progress) -> Iterator[ExchangedScore]:
    trials = [(entry.run, record) for entry in heads for record in entry.records]
    models = [model_of_run(run, record.id) for run, record in trials]
    fed = store if store.manifest.keeps_blocks else feed_live(store)
    progress.update(f"{len(models)} heads on {store.path}, report rows")
    said = iter(head_logits([head for model in models for head in model.heads], fed, Role.REPORT))
    index = role_index(store, Role.REPORT)
    for (run, record), model in zip(trials, models, strict=True):
        logits = mean_logits([next(said) for _ in model.heads], store.task.kind)
        evaluation = store.task.evaluate(index, list(logits))
        yield ExchangedScore(
            run=run.name, trial=record.id, score=evaluation.score, interval=evaluation.interval()
        )


def read_exchange(path: Path, store: Store) -> dict[tuple[str, str], ExchangedScore]:
    """By run and trial; of this store, and no other."""
    value: dict[str, Any] = read_signed(path, RunError)
    again = "delete it, and run bv-search study again"
    said = decode_at(ExchangeFile, value, RunError, where=path, do=again)
    if said.store != store.digest:
        raise RunError("is of another store", where=path, expected=store.digest, found=said.store, do=again)
    return {(score.run, score.trial): score for score in said.scores}
