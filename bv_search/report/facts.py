"""The figures of a report. All scores are of report rows, which nothing was selected on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from bv_search.model.combine import Method, combine
from bv_search.run.folder import Run
from bv_search.run.leaderboard import best, describe, smallest
from bv_search.run.predictions import read_predictions
from bv_search.run.roles import encoder_logits, open_store, role_ids
from bv_search.run.trial import FAILED, TrialRecord, percent_of
from bv_search.scan.ground import role_index
from bv_search.store.store import Store
from bv_search.tasks.evaluation import Delta, Evaluation, difference
from bv_search.tasks.row import Role
from bv_search.tasks.task import Task

Logits = Sequence[np.ndarray]
ENCODER, BEST, SMALLEST, ENSEMBLE = "encoder", "best head", "smallest head", "ensemble"


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A model in the comparison."""

    role: str  # what it is here: encoder, best head, smallest head, ensemble
    name: str  # which one
    logits: Logits
    evaluation: Evaluation
    interval: tuple[float, float]
    parameters: int | None
    percent: float | None
    delta: Delta | None  # against the encoder; None for the encoder itself, or where it predicts nothing

    @property
    def score(self) -> float:
        return self.evaluation.score


@dataclass(frozen=True, kw_only=True)
class Facts:
    run: Run
    store: Store
    records: list[TrialRecord]
    standings: list[Standing]
    over_best: Delta | None  # the ensemble against the best head
    index: pa.Table  # of the report windows

    @property
    def task(self) -> Task:
        return self.store.task

    @cached_property
    def ranked(self) -> list[TrialRecord]:
        return best(self.records)

    @property
    def unbeaten(self) -> str | None:
        """The one model that no combination beat on select, where an ensemble was looked for in vain."""
        chosen = self.run.ensemble()
        single = chosen is not None and chosen["method"] == Method.SINGLE
        return str(chosen["members"][0]["name"]) if chosen is not None and single else None

    @property
    def failed(self) -> list[TrialRecord]:
        return [record for record in self.records if record.status == FAILED]

    def standing(self, role: str) -> Standing | None:
        return next((each for each in self.standings if each.role == role), None)


def gather(run: Run) -> Facts:
    """Read a run and its store's index; no hidden state is touched."""
    ranked = run.finished_trials()
    panel = _Panel(run, open_store(run))
    panel.add_encoder()
    top, small = ranked[0], smallest(ranked)
    panel.add_head(BEST, top)
    if small.id != top.id:
        panel.add_head(SMALLEST, small)
    panel.add_ensemble()
    return Facts(
        run=run,
        store=panel.store,
        records=run.trials(),
        standings=panel.standings,
        over_best=panel.over_best(),
        index=panel.index,
    )


class _Panel:
    """The models of a comparison, each judged against the first."""

    def __init__(self, run: Run, store: Store) -> None:
        self.run, self.store = run, store
        self.index, self._ids = role_index(store, Role.REPORT), role_ids(store, Role.REPORT)
        self._own = encoder_logits(store, Role.REPORT)
        self.standings: list[Standing] = []

    def add_encoder(self) -> None:
        if self._own is not None:
            self._add(ENCODER, self._encoder_name(), self._own, self.store.encoder_parameters)

    def add_head(self, role: str, record: TrialRecord) -> None:
        name = f"trial {record.id}: {describe(record.config)}"
        self._add(role, name, self._of_trial(self.run, record.id), record.parameters)

    def add_ensemble(self) -> None:
        chosen = self.run.ensemble()
        if chosen is None or chosen["method"] == Method.SINGLE:
            return
        members = chosen["members"]
        logits = combine(
            Method(chosen["method"]),
            [self._of_member(member) for member in members],
            self.store.task.kind,
            [member["weight"] for member in members],
        )
        names = ", ".join(member["name"] for member in members)
        self._add(ENSEMBLE, f"{chosen['method']} of {names}", logits, None)

    def over_best(self) -> Delta | None:
        by_role = {standing.role: standing for standing in self.standings}
        if ENSEMBLE not in by_role:
            return None
        return difference(by_role[ENSEMBLE].evaluation, by_role[BEST].evaluation)

    def _add(self, role: str, name: str, logits: Logits, parameters: int | None) -> None:
        evaluation = self.store.task.evaluate(self.index, logits)
        first = self.standings[0] if self.standings else None
        compared = first is not None and first.role == ENCODER
        self.standings.append(
            Standing(
                role=role,
                name=name,
                logits=logits,
                evaluation=evaluation,
                interval=evaluation.interval(),
                parameters=parameters,
                percent=percent_of(parameters, self.store.encoder_parameters),
                delta=difference(evaluation, first.evaluation) if compared and first else None,
            )
        )

    def _of_member(self, member: Mapping[str, Any]) -> Logits:
        if member["trial"] is None:
            assert self._own is not None, "an ensemble's encoder has predictions"
            return self._own
        home = self.run if member["run"] == "." else Run.open(self.run.path / member["run"])
        return self._of_trial(home, member["trial"])

    def _of_trial(self, home: Run, trial: str) -> Logits:
        return read_predictions(home.trial_folder(trial) / "report.parquet", ids=self._ids).logits

    def _encoder_name(self) -> str:
        entry = self.store.manifest.encoder
        if entry.fraction is None:
            return entry.id
        return f"{entry.id}, fine-tuned for {entry.fraction:g} epochs"
