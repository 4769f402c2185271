"""The ensemble of a run: chosen on `select`, scored once on `report`, beside what it has to beat."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bv_search.command import Progress
from bv_search.ensemble.candidates import Candidate, find_candidates, open_runs
from bv_search.ensemble.choice import Choice, Panel, choose
from bv_search.ensemble.result import EnsembleResult, Standing
from bv_search.model.combine import Method, check_method, combine
from bv_search.model.registry import register
from bv_search.model.source import model_of_run
from bv_search.model.standings import compare_ladder
from bv_search.run.folder import Run
from bv_search.run.mlflow import open_mirror
from bv_search.run.roles import check_data, open_store, role_ids
from bv_search.scan.ground import role_index
from bv_search.store.store import Store
from bv_search.tasks.evaluation import difference
from bv_search.tasks.row import Role


@dataclass(frozen=True, kw_only=True)
class EnsembleConfig:
    runs: tuple[str, ...]  # on one store; the first one gets ensemble.json
    method: Method | None = None  # None: all of them are considered
    limit: int = 16  # of the best heads on select are considered
    data: str | None = None  # if given: the data that the store must have been made of
    mlflow: bool = True  # mirror and register the result


def run(config: EnsembleConfig, progress: Progress) -> EnsembleResult:
    """Decide, write ensemble.json whole, and mirror it; what was decided before stays until then."""
    began = time.monotonic()
    runs = open_runs(config.runs)
    home = runs[0]
    store = open_store(home)
    check_data(store, config.data)
    if config.method is not None:
        check_method(config.method, store.task.kind)
    with home.writing():
        candidates = find_candidates(runs, store, limit=config.limit)
        considered = _choose(config, store, candidates, progress)
        result = _score(home, store, candidates, considered)
        home.write_ensemble(result.to_json())
        home.journal.append({"event": "end", "seconds": {"ensemble": round(time.monotonic() - began, 3)}})
        return _mirror(result, progress) if config.mlflow else result


def _choose(
    config: EnsembleConfig, store: Store, candidates: Sequence[Candidate], progress: Progress
) -> list[Choice]:
    ids = role_ids(store, Role.SELECT)
    panel = Panel.of(
        store.task,
        role_index(store, Role.SELECT),
        [candidate.logits(store, Role.SELECT, ids) for candidate in candidates],
        encoder=candidates[-1].record is None,
    )
    progress.say(f"ensemble: {len(candidates)} candidates on {panel.index.num_rows} windows of select")
    return choose(panel, None if config.method is None else [config.method], progress.update)


def _score(
    home: Run, store: Store, candidates: Sequence[Candidate], considered: Sequence[Choice]
) -> EnsembleResult:
    choice = considered[0]
    ids, index, task = role_ids(store, Role.REPORT), role_index(store, Role.REPORT), store.task
    single = next(each for each in candidates if each.record is not None)
    wanted = {number for number, _ in choice.members} | {candidates.index(single)}
    wanted |= {len(candidates) - 1} if candidates[-1].record is None else set()
    logits = {number: candidates[number].logits(store, Role.REPORT, ids) for number in sorted(wanted)}
    combined = combine(
        choice.method,
        [logits[number] for number, _ in choice.members],
        task.kind,
        [weight for _, weight in choice.members],
    )
    ours = task.evaluate(index, combined)

    def against(number: int) -> Standing:
        theirs = task.evaluate(index, logits[number])
        return Standing(
            name=candidates[number].name,
            evaluation=theirs,
            interval=theirs.interval(),
            delta=difference(ours, theirs),
        )

    return EnsembleResult(
        run=home,
        heads=len(home.finished_trials()),
        choice=choice,
        members=tuple(candidates[number].to_json(home, weight) for number, weight in choice.members),
        evaluation=ours,
        interval=ours.interval(),
        best_single=against(candidates.index(single)),
        baseline=against(len(candidates) - 1) if candidates[-1].record is None else None,
        gain=compare_ladder(home, store).gain(ours),
        considered=tuple(considered),
    )


def _mirror(result: EnsembleResult, progress: Progress) -> EnsembleResult:
    """Into MLflow, as a new version of the task's model. The result stands, whether that works or not."""
    mirror = open_mirror(result.run, progress.say)
    if mirror is None:
        return result
    registered = register(model_of_run(result.run, "ensemble"), mirror)
    if not mirror.close() or registered is None:
        progress.say(f"not in MLflow: {mirror.trouble}")
        return result
    return replace(result, model=registered.uri)
