"""The search: a study, its scan workers and trials, from the first suggestion to the leaderboard."""

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from ray import tune

from bv_search.cluster import machines, ray_session
from bv_search.command import Progress
from bv_search.errors import EncoderError, UserError
from bv_search.files import absolute
from bv_search.run.folder import Run
from bv_search.run.leaderboard import best
from bv_search.run.mlflow import MlflowMirror
from bv_search.run.trial import FAILED
from bv_search.scan.ground import count_rows, doubts, head_shape, learned_split
from bv_search.scan.ladder import LadderRung, rungs_of
from bv_search.source import AUTO, STORE
from bv_search.source.choice import Choice, compare_sources
from bv_search.store.store import Store
from bv_search.tune.budget import Budget
from bv_search.tune.config import TuneConfig
from bv_search.tune.crew import Crew
from bv_search.tune.desk import Desk
from bv_search.tune.finale import Finale, find_finalists
from bv_search.tune.halving import Halving
from bv_search.tune.interrupt import interruptible
from bv_search.tune.lot import Lot
from bv_search.tune.parking import Parking
from bv_search.tune.pool import Pool
from bv_search.tune.recorder import Recorder
from bv_search.tune.resume import Past, read_past, without_rungs
from bv_search.tune.rungs import Rungs, plan_rungs
from bv_search.tune.scan_worker import Reading
from bv_search.tune.searchers import SEARCHERS, Searcher
from bv_search.tune.share import Share
from bv_search.tune.space import Config
from bv_search.tune.study import OpenStudy, open_study
from bv_search.tune.suggestions import Suggestion, Suggestions
from bv_search.tune.thin_trial import TRIAL, ThinTrial
from bv_search.tune.warm_start import Told, read_told, sentence

RAY_STATE = "ray"
TUNE_SETTINGS = {
    "TUNE_DISABLE_STRICT_METRIC_CHECKING": "1",  # parked trials report no score
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",  # the journal and MLflow log
    "TUNE_DISABLE_SIGINT_HANDLER": "1",  # an interrupt is the command's to answer
    "TUNE_MAX_PENDING_TRIALS_PG": "8",  # the lot admits trials, not Tune
    "RAY_AIR_NEW_OUTPUT": "0",
}


@dataclass(kw_only=True)
class Clock:
    """What was spent on what, in seconds."""

    begun: float = field(default_factory=time.monotonic)
    spent: dict[str, float] = field(default_factory=dict)

    def note(self, step: str) -> None:
        """The time since the last note belongs to this step."""
        self.spent[step] = time.monotonic() - self.begun - sum(self.spent.values())

    def total(self) -> dict[str, float]:
        return {"total": sum(self.spent.values()), **self.spent}


def run(config: TuneConfig, progress: Progress) -> Run:
    """Search, and leave a run folder whose trials have weights, predictions and scores."""
    clock = Clock()
    study = open_study(config)
    with (
        study.run.writing(),
        _opened(study.run, new=not config.resume),
        _mirrored(study.run) as connect,
    ):
        if study.changes:
            connect()  # an MLflow that cannot be reached is told before anything has changed
            study.run.change_study(**study.changes)
        past = read_past(study.run.events())
        searched = without_rungs(past)
        left = study.run.study.trials - sum(each.finished for each in searched)
        if (ending := _ending(study, past)) is not None:
            progress.say(ending)
            connect().close()
            return study.run
        with ray_session(), _hired(config, study, progress) as crew:
            mirror = connect()
            recorder = Recorder(study.run, study.store, mirror)
            asked = study.run.study.pack
            pack = crew.capacity(study.sizes.planned()) if asked == AUTO else int(asked)
            clock.note("start")
            rungs = plan_rungs(
                study.space.typed_corners(),
                learned_split(study.store, folds=study.run.study.folds).windows,
                halving=study.run.study.scheduler == "asha",
                one_token=study.store.manifest.one_token,
            )
            progress.say(_opening(study.run, study.store, pack, crew))
            told = read_told(study.run.events())
            searcher = _searcher(study, told)
            if told:
                progress.say(sentence(told, study.store))
            capacity = crew.size * pack
            generation = study.run.study.generation or capacity
            for doubt in (*doubts(study.store), *doubts_of_learning(searcher, searched, left, generation)):
                progress.say(doubt)
            budget = budget_of(config.time_budget, study, past)
            trials = _Trials(study=study, past=past, told=told, searcher=searcher)
            desk = Desk(
                crew=crew,
                pool=Pool(rungs, pack),
                rungs=rungs,
                recorder=recorder,
                progress=progress,
                total=left + sum(not rung.is_solved for rung in trials.rungs),
                budget=budget,
            )
            with interruptible(budget, progress):
                _search(budget, trials, desk, rungs, min(generation, capacity), recorder)
                clock.note("search")
                why = budget.reason  # before its time is up while heads are scored
                desk.finish(pack)
                clock.note("score")
                finale = Finale(crew=crew, recorder=recorder, progress=progress)
                if not budget.is_interrupted:
                    finale.play(find_finalists(study.run), room=pack * study.run.study.folds)
                clock.note("finale")
            if searcher.refused:
                progress.say(f"{searcher.refused} proposals had too many parameters, and were drawn again")
            memory = {"peak_scan_worker": crew.peak_memory()}
        spent = {**clock.total(), "scan": desk.scan_seconds + finale.scan_seconds}
        recorder.ended(spent, memory, why)
        _register(study.run, mirror, progress)
    progress.close()
    return study.run


def budget_of(seconds: float | None, study: OpenStudy, past: Sequence[Past]) -> Budget:
    """What is left of it after what earlier sessions found."""
    budget = Budget(
        seconds,
        target=study.run.study.target,
        patience=study.run.study.patience,
        ladder=[rung.trial for rung in rungs_of(head_shape(study.store))],
        size=study.size and (lambda config: study.sizes.of_head(config.head)),
    )
    budget.recall(past)
    return budget


def _ending(study: OpenStudy, past: Sequence[Past]) -> str | None:
    """Why there is nothing left to do; None where there is."""
    run, searched = study.run, without_rungs(past)
    if not run.memory() or find_finalists(run):  # its last session did not live to its end
        return None
    if sum(each.finished for each in searched) == run.study.trials:
        return f"all {len(searched)} trials have ended: --trials +N adds some"
    heard = budget_of(None, study, past)
    if not heard.is_spent or any(each.position and not each.finished for each in past):
        return None
    return f"the search has ended: {heard.reason}; another --target or --patience lets it go on"


def _searcher(study: OpenStudy, told: Sequence[Told]) -> Searcher:
    space, settings = study.space, study.run.study
    searcher = SEARCHERS[settings.searcher](space, settings.seed, study.sizes.fit, study.size)
    searcher.remember([(space.draws(each.config), each.score) for each in told])
    return searcher


@contextmanager
def _opened(run: Run, *, new: bool) -> Iterator[None]:
    """A new run that got no trial, for want of MLflow or Ray, is not left behind: its name stays free."""
    try:
        yield
    except UserError:
        if new and not run.trials():
            shutil.rmtree(run.path)
        raise


@contextmanager
def _mirrored(run: Run) -> Iterator[Callable[[], MlflowMirror]]:
    """MLflow is connected to while Ray starts: each waits mostly for others."""
    with ExitStack() as stack, ThreadPoolExecutor(1) as thread:
        yield thread.submit(lambda: stack.enter_context(MlflowMirror(run).guarded())).result


@contextmanager
def _hired(config: TuneConfig, study: OpenStudy, progress: Progress) -> Iterator[Crew]:
    """Scan workers that read the source chosen; where it is not, one of them measures both."""
    share = Share.of_cluster(machines(), config.workers)
    place, choice = absolute(study.store.path), study.choice
    measured = choice.source == AUTO
    reading = Reading(
        store=place,
        source=STORE if measured else choice.source,
        window=config.memory,
        folds=study.run.study.folds,
    )
    with ExitStack() as contract:
        crew = contract.enter_context(Crew(reading, share, progress.say))
        if measured:
            choice = _measured(study.store, crew)
            study.run.change_study(source=choice.source)
        if choice.source != reading.source:
            contract.close()
            crew = contract.enter_context(Crew(replace(reading, source=choice.source), share, progress.say))
        if choice.why:
            progress.say(str(choice))
        yield crew


def _measured(store: Store, crew: Crew) -> Choice:
    try:
        return compare_sources(store, crew.rates())
    except EncoderError as error:  # on another machine than this one, say
        return Choice(source=STORE, why=f"its encoder cannot be measured: {error}")


def _register(run: Run, mirror: MlflowMirror, progress: Progress) -> None:
    """The best head as a servable model; a failure is told, and costs the run nothing."""
    from bv_search.model.registry import register  # with torch, which the search itself does without
    from bv_search.model.source import open_model

    if best(run.trials()) and register(open_model(run.path, member="best"), mirror) is None:
        progress.say(f"the best head is not registered in MLflow: {mirror.trouble}")


@dataclass(frozen=True, kw_only=True)
class _Trials:
    """Trials that were, and those to come."""

    study: OpenStudy
    past: list[Past]
    told: list[Told]  # of earlier runs
    searcher: Searcher

    @property
    def searched(self) -> list[Past]:
        return without_rungs(self.past)

    @property
    def numbers(self) -> range:
        return range(len(self.searched) + 1, self.study.run.study.trials + 1)

    @property
    def start(self) -> list[Config]:
        """Of the space's own points, those that may be proposed and were not told."""
        space, fit, told = self.study.space, self.study.sizes.fit, [each.config for each in self.told]
        points = [dict(point) for point in space.start if fit(space.draws(point)) and point not in told]
        return points[len(self.searched) :]

    @property
    def resumed(self) -> list[Suggestion]:
        return [
            Suggestion(trial=past.trial, config=past.config, rung=past.rung)
            for past in self.past
            if past.is_live and past.trial not in self.solved
        ]

    @cached_property
    def rungs(self) -> list[LadderRung]:
        """Those that are still to be climbed."""
        done = {past.trial for past in self.past if past.finished}
        return [rung for rung in rungs_of(head_shape(self.study.store)) if rung.trial not in done]

    @property
    def solved(self) -> set[str]:
        return {rung.trial for rung in self.rungs if rung.is_solved}

    @property
    def new_rungs(self) -> list[Suggestion]:
        """That are trained like any head, and have not begun."""
        begun = {past.trial for past in self.past}
        return [
            Suggestion(trial=rung.trial, config=rung.to_json(), rung=rung.rung)
            for rung in self.rungs
            if not rung.is_solved and rung.trial not in begun
        ]


def _search(
    budget: Budget, trials: _Trials, desk: Desk, rungs: Rungs, capacity: int, recorder: Recorder
) -> None:
    lot = Lot(capacity=capacity)
    halving = Halving(rungs, spared=[rung.trial for rung in rungs_of(head_shape(trials.study.store))])
    replay(trials.past, trials.searcher, desk, halving)
    _climb(trials, desk, recorder)
    if not budget.is_spent and (trials.resumed or trials.new_rungs or trials.numbers):
        suggestions = Suggestions(
            trials.searcher,
            lot=lot,
            recorder=recorder,
            resumed=trials.resumed,
            rungs=trials.new_rungs,
            start=trials.start,
            numbers=trials.numbers,
        )
        os.environ.update(TUNE_SETTINGS)
        lot.news |= {
            past.trial: desk.news(past.trial, past.unheard)
            for past in trials.past
            if past.unheard is not None
        }
        parking = Parking(halving, desk=desk, lot=lot)
        _fit(budget, suggestions, parking, trials.study.run.path / RAY_STATE)
    desk.drain()
    desk.halt_all()


def _climb(trials: _Trials, desk: Desk, recorder: Recorder) -> None:
    """Begin with the rungs that need no training; the first pack is put together meanwhile."""
    begun = {past.trial for past in trials.past}
    solved = [rung for rung in trials.rungs if rung.is_solved]
    for rung in solved:
        if rung.trial not in begun:
            recorder.suggested(rung.trial, rung.to_json(), rung.rung)
    if solved:
        desk.climb(solved)


def _fit(budget: Budget, suggestions: Suggestions, parking: Parking, storage: Path) -> None:
    trainable = tune.with_resources(ThinTrial, tune.PlacementGroupFactory([{"CPU": 0.01}]))
    tuner = tune.Tuner(
        trainable,
        tune_config=tune.TuneConfig(
            search_alg=suggestions,
            scheduler=parking,
            num_samples=-1,
            reuse_actors=True,
            trial_name_creator=_trial_name,
            trial_dirname_creator=_trial_name,
        ),
        run_config=tune.RunConfig(name="tune", storage_path=str(storage.resolve()), stop=budget, verbose=0),
    )
    tuner.fit()


def _trial_name(trial: Any) -> str:
    return f"trial-{trial.config[TRIAL]}"


def replay(trials: Sequence[Past], searcher: Searcher, desk: Desk, halving: Halving) -> None:
    """Searcher and scheduler learn what earlier sessions found out."""
    for past in trials:
        if past.rung is None:
            searcher.adopt(past.trial, searcher.space.draws(past.config))
            if not past.is_live:
                searcher.tell(past.trial, past.score)
        if past.status != FAILED and not past.finished:
            desk.known(past)
        for position, found in past.found:
            done = past.has_learned and position == past.position
            halving.hear(past.trial, past.typed_config, found, position=position, done=done)


def doubts_of_learning(searcher: Searcher, past: Sequence[Past], left: int, generation: int) -> Iterator[str]:
    scored = len(searcher.told) + sum(each.score is not None for each in past)
    needed = searcher.startup_points or 0
    if scored < needed and 2 * needed < left <= generation:
        yield (
            f"all {left} heads are drawn before the first has a score, so no better than at random: "
            "a smaller --generation, or more trials, let the searcher learn"
        )


def _opening(run: Run, store: Store, pack: int, crew: Crew) -> str:
    study = run.study
    learned = learned_split(store, folds=study.folds)
    rows = f"{study.folds} folds over {count_rows(learned):,} rows, " if study.folds > 1 else ""
    return (
        f"run {run.path}: {study.trials} trials by {study.searcher}, {study.scheduler}; {rows}"
        f"{learned.windows} windows, {learned.lengths.sum()} tokens; packs of {pack} on {crew.size} worker(s)"
    )
