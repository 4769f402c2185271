"""Who may join an ensemble: heads of one or several runs on one store, and the encoder itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import relpath
from pathlib import Path
from typing import Any

import numpy as np

from bv_search.errors import RunError
from bv_search.model.model import ENCODER_NAME
from bv_search.run.choosers import Choosers, train_answers
from bv_search.run.folder import Run
from bv_search.run.leaderboard import rank_of
from bv_search.run.predictions import predictions_file, read_predictions
from bv_search.run.roles import encoder_logits, role_ids
from bv_search.run.trial import TrialRecord
from bv_search.store.store import Store
from bv_search.tasks.row import Role


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """A head of a run, or the encoder (no run, no record)."""

    name: str
    run: Run | None = None
    record: TrialRecord | None = None

    @property
    def parameters(self) -> int:
        return (self.record.parameters or 0) if self.record else 0

    @cached_property
    def folder(self) -> Path | None:
        """Where a head's predictions are, as they were written; the encoder's are in the store."""
        return None if self.run is None or self.record is None else self.run.answers_folder(self.record.id)

    def choosing(self, choosers: Choosers) -> list[np.ndarray]:
        """Its saved predictions for the rows that choose."""
        own = choosers.encoder_logits() if self.folder is None else choosers.trial_logits(self.folder)
        assert own is not None, "an encoder without predictions is no candidate"
        return own

    def reporting(self, store: Store) -> list[np.ndarray]:
        """Its saved predictions for the rows of report."""
        if self.folder is None:
            own = encoder_logits(store, Role.REPORT)
            assert own is not None, "an encoder without predictions is no candidate"
            return own
        return read_predictions(
            self.folder / predictions_file(Role.REPORT), ids=role_ids(store, Role.REPORT)
        ).logits

    def to_json(self, home: Run, weight: float) -> dict[str, Any]:
        """As ensemble.json names a member; other runs by the way to them from the run that holds it."""
        if self.run is None or self.record is None:
            return {"name": self.name, "run": ".", "trial": None, "weight": weight}
        place = Path(relpath(self.run.path.resolve(), home.path.resolve())).as_posix()
        return {"name": self.name, "run": place, "trial": self.record.id, "weight": weight}


def open_runs(places: Sequence[str | Path]) -> list[Run]:
    """The runs, if they can be judged together: each once, one task, one store."""
    runs = Run.open_each(places)
    first = runs[0]
    for run in runs[1:]:
        for what in ("task_name", "store_digest"):
            expected, found = getattr(first.study, what), getattr(run.study, what)
            if expected != found:
                raise RunError(
                    f"is on another {what.removesuffix('_name').removesuffix('_digest')} than {first.path}",
                    where=run.path,
                    expected=expected,
                    found=found,
                    do="ensembles are of runs on one task and store",
                )
    return runs


def find_candidates(runs: Sequence[Run], store: Store, *, limit: int) -> list[Candidate]:
    """Of each run the best heads; the encoder last, if it has predictions.

    A trial whose head learned once more is there as what that became: of rows that choose both say the same.
    """
    ranked = {run: sorted(_distinct(run.finished_trials()), key=rank_of)[:limit] for run in runs}
    heads = [
        Candidate(name=record.id if len(runs) == 1 else f"{run.name}/{record.id}", run=run, record=record)
        for run, records in ranked.items()
        for record in records
    ]
    return heads + ([Candidate(name=ENCODER_NAME)] if store.manifest.baseline is not None else [])


def find_choosers(candidates: Iterable[Candidate], store: Store) -> Choosers:
    """The rows of which every candidate has unseen answers; those of the encoder are there for all."""
    folders = (candidate.folder for candidate in candidates)
    return Choosers.shared(store, (train_answers(folder).keys() for folder in folders if folder is not None))


def _distinct(ranked: Sequence[TrialRecord]) -> Iterable[TrialRecord]:
    """The first of all that one trial became."""
    return {record.of or record.id: record for record in reversed(ranked)}.values()
