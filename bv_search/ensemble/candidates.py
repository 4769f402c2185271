"""Who may join an ensemble: heads of one or several runs on one store, and the encoder itself."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from typing import Any

import numpy as np

from bv_search.errors import RunError
from bv_search.model.model import ENCODER_NAME
from bv_search.run.folder import Run
from bv_search.run.leaderboard import rank_of
from bv_search.run.predictions import read_predictions
from bv_search.run.roles import encoder_logits
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

    def logits(self, store: Store, role: Role, ids: Sequence[str]) -> list[np.ndarray]:
        """Its saved predictions for exactly these windows."""
        if self.run is None or self.record is None:
            own = encoder_logits(store, role)
            assert own is not None, "an encoder without predictions is no candidate"
            return own
        folder = self.run.trial_folder(self.record.id)
        return read_predictions(folder / f"{role}.parquet", ids=ids).logits

    def to_json(self, home: Run, weight: float) -> dict[str, Any]:
        """As ensemble.json names a member; other runs by the way to them from the run that holds it."""
        if self.run is None or self.record is None:
            return {"name": self.name, "run": ".", "trial": None, "weight": weight}
        place = Path(relpath(self.run.path.resolve(), home.path.resolve())).as_posix()
        return {"name": self.name, "run": place, "trial": self.record.id, "weight": weight}


def open_runs(places: Sequence[str | Path]) -> list[Run]:
    """The runs, if they can be judged together: each once, one task, one store."""
    runs = [Run.open(place) for place in places]
    folders = [run.path.resolve() for run in runs]
    for run in runs:
        if folders.count(run.path.resolve()) > 1:
            raise RunError("is named twice", where=run.path, do="name each run once")
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
    """The best heads on select, best first; the encoder last, if it has predictions.

    A trial whose head learned once more is there as what that became: on select both say the same.
    """
    pairs = [(record, run) for run in runs for record in _distinct(run.finished_trials())]
    heads = [
        Candidate(name=record.id if len(runs) == 1 else f"{run.name}/{record.id}", run=run, record=record)
        for record, run in sorted(pairs, key=lambda pair: rank_of(pair[0]))[:limit]
    ]
    return heads + ([Candidate(name=ENCODER_NAME)] if store.manifest.baseline is not None else [])


def _distinct(ranked: Sequence[TrialRecord]) -> Iterable[TrialRecord]:
    """The first of all that one trial became."""
    return {record.of or record.id: record for record in reversed(ranked)}.values()
