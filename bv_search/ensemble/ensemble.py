"""The ensemble of a run: chosen on rows that all have answered unseen, scored once on `report`."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from bv_search.command import Progress
from bv_search.ensemble.candidates import Candidate, find_candidates, find_choosers, open_runs
from bv_search.ensemble.config import EnsembleConfig
from bv_search.ensemble.result import EnsembleResult, MemberScore
from bv_search.ensemble.selection import Panel, Selection, choose
from bv_search.model.combine import check_method, combine
from bv_search.model.registry import register
from bv_search.model.standings import compare_ladder
from bv_search.run.choosers import Choosers
from bv_search.run.folder import Run
from bv_search.run.mlflow import open_mirror
from bv_search.run.roles import check_data, open_store
from bv_search.scan.store_view import role_index
from bv_search.store.store import Store
from bv_search.tasks.evaluation import difference
from bv_search.tasks.row import Role


@dataclass(frozen=True, kw_only=True)
class _Ballot:
    """Who may join, best first, the encoder last; who chooses, and what they are told."""

    candidates: Sequence[Candidate]
    choosers: Choosers
    panel: Panel

    @classmethod
    def of(cls, runs: Sequence[Run], store: Store, *, limit: int) -> Self:
        """Heads of several runs may have been judged by different rows: here by those that they share."""
        found = find_candidates(runs, store, limit=limit)
        choosers = find_choosers(found, store)
        panel = Panel.of(
            store.task,
            choosers.index,
            [candidate.choosing(choosers) for candidate in found],
            encoder=found[-1].folder is None,
        )
        best = panel.best(limit)
        return cls(candidates=[found[number] for number in best], choosers=choosers, panel=panel.among(best))

    @property
    def encoder(self) -> Candidate | None:
        return None if self.panel.encoder is None else self.candidates[self.panel.encoder]


def run(config: EnsembleConfig, progress: Progress) -> EnsembleResult:
    """Decide, write ensemble.json whole, and mirror it; what was decided before stays until then."""
    began = time.monotonic()
    runs = open_runs(config.runs)
    home = runs[0]
    store = open_store(home)
    check_data(store, config.data)
    check_method(config.method, store.task.kind)
    with home.writing():
        result = decide(runs, store, config, progress)
        home.journal.append({"event": "end", "seconds": {"ensemble": round(time.monotonic() - began, 3)}})
        return _mirror(result, store, progress) if config.mlflow else result


def decide(runs: Sequence[Run], store: Store, config: EnsembleConfig, progress: Progress) -> EnsembleResult:
    """The ensemble of runs on this store, into the first one, which its caller holds."""
    home, ballot = runs[0], _Ballot.of(runs, store, limit=config.limit)
    progress.say(f"ensemble: {len(ballot.candidates)} candidates, judged by {ballot.choosers}")
    considered = choose(ballot.panel, config.method, progress.update)
    result = _score(home, store, ballot, considered)
    home.write_ensemble(result.to_json())
    return result


def _score(home: Run, store: Store, ballot: _Ballot, considered: Sequence[Selection]) -> EnsembleResult:
    selection, task, index = considered[0], store.task, role_index(store, Role.REPORT)
    members = [(ballot.candidates[number], weight) for number, weight in selection.members]
    combined = combine(
        selection.method,
        [member.reporting(store) for member, _ in members],
        task.kind,
        [weight for _, weight in members],
    )
    ours = task.evaluate(index, combined)

    def against(candidate: Candidate) -> MemberScore:
        theirs = task.evaluate(index, candidate.reporting(store))
        return MemberScore(
            name=candidate.name,
            evaluation=theirs,
            interval=theirs.interval(),
            delta=difference(ours, theirs),
        )

    return EnsembleResult(
        run=home,
        heads=len(home.finished_trials()),
        chosen_on=ballot.choosers,
        selection=selection,
        members=tuple(member.to_json(home, weight) for member, weight in members),
        evaluation=ours,
        interval=ours.interval(),
        best_single=against(ballot.candidates[ballot.panel.best_alone]),
        baseline=None if ballot.encoder is None else against(ballot.encoder),
        gain=compare_ladder(home, store).gain(ours),
        considered=tuple(considered),
    )


def _mirror(result: EnsembleResult, store: Store, progress: Progress) -> EnsembleResult:
    """Into MLflow, as a new version of the task's model. The result stands, whether that works or not."""
    mirror = open_mirror(result.run, progress.say)
    if mirror is None:
        return result
    registered = register(result.run, store, mirror)
    if not mirror.close() or registered is None:
        progress.say(f"not in MLflow: {mirror.trouble}")
        return result
    return replace(result, model=registered.uri)
