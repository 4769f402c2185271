"""The figures of a report. All scores are of report rows, which nothing was selected on."""

from dataclasses import dataclass
from functools import cached_property

import pyarrow as pa

from bv_search.model.standings import Standing, Standings, compare
from bv_search.run.choosers import Choosers, describe
from bv_search.run.folder import Run
from bv_search.run.leaderboard import best
from bv_search.run.roles import open_store
from bv_search.run.trial import FAILED, TrialRecord
from bv_search.scan.store_view import role_index
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class Facts:
    run: Run
    store: Store
    records: list[TrialRecord]
    compared: Standings
    index: pa.Table  # of the report windows

    @property
    def task(self) -> Task:
        return self.store.task

    @property
    def standings(self) -> list[Standing]:
        return self.compared.all

    @cached_property
    def ranked(self) -> list[TrialRecord]:
        return best(self.records)

    @property
    def searched(self) -> list[TrialRecord]:
        """Without the rungs of the ladder, and what was made of trials."""
        return [record for record in self.records if record.is_searched]

    @cached_property
    def front(self) -> list[TrialRecord] | None:
        """From the smallest head up, where the search looked for one."""
        return self.run.front()

    @property
    def unbeaten(self) -> str | None:
        """What was tried in vain, where an ensemble came to one model."""
        return self.compared.unbeaten

    @cached_property
    def choosers(self) -> Choosers:
        """The rows that heads are judged by, until report."""
        return Choosers.of_folds(self.store, self.run.study.folds)

    @property
    def ensemble_choosers(self) -> str | None:
        """The rows that the ensemble was chosen on."""
        chosen = self.run.ensemble()
        return None if chosen is None else describe(chosen["chosen_on"])

    @property
    def failed(self) -> list[TrialRecord]:
        return [record for record in self.records if record.status == FAILED]

    def standing(self, role: str) -> Standing | None:
        return self.compared.of(role)


def gather(run: Run) -> Facts:
    """Read a run and its store's index; no hidden state is touched."""
    run.finished_trials()  # at least one, or an error that says so
    store = open_store(run)
    return Facts(
        run=run,
        store=store,
        records=run.trials(),
        compared=compare(run, store),
        index=role_index(store, Role.REPORT),
    )
