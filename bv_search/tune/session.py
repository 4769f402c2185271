"""A session of a search: what its scan workers do, from the first suggestion to the last answers."""

import logging
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from ray import tune

from bv_search.command import Progress
from bv_search.run.folder import Run
from bv_search.scan.ground import count_rows, doubts, head_shape, learned_split
from bv_search.scan.ladder import rungs_of
from bv_search.source import AUTO
from bv_search.tune.budget import Budget
from bv_search.tune.clock import Clock
from bv_search.tune.crew import Crew
from bv_search.tune.desk import Desk
from bv_search.tune.finale import Finale, find_finalists
from bv_search.tune.halving import Halving
from bv_search.tune.interrupt import interruptible
from bv_search.tune.lot import Lot
from bv_search.tune.parking import Parking
from bv_search.tune.pool import Pool
from bv_search.tune.recorder import Recorder
from bv_search.tune.resume import Past, read_past, read_round, without_rungs
from bv_search.tune.rungs import plan_rungs
from bv_search.tune.searchers import Searcher
from bv_search.tune.study import OpenStudy
from bv_search.tune.suggestions import Suggestions
from bv_search.tune.thin_trial import TRIAL, ThinTrial
from bv_search.tune.trials import Trials, open_searcher, teach
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
class Session:
    study: OpenStudy
    past: list[Past]  # trials, as earlier sessions left them
    crew: Crew
    recorder: Recorder
    budget: Budget
    progress: Progress
    clock: Clock
    why: str | None = field(default=None, init=False)  # it ended before the last trial

    def run(self) -> None:
        """Search, score what was found, and have the best learn once more."""
        self.recorder.sweep(self.past)
        self._announce()
        self.clock.note("start")
        with interruptible(self.budget, self.progress):
            self._search()
            self.clock.note("search")
            self.why = self.budget.reason  # before its time is up while heads are scored
            self._desk.finish(self._room)
            self.clock.note("score")
            if not self.budget.is_interrupted:
                self._play_finale()
                self.clock.note("finale")
        if self._searcher.refused:
            refused = f"{self._searcher.refused} proposals had too many parameters"
            self.progress.say(f"{refused}, and were drawn again")

    def _announce(self) -> None:
        """What begins, and what to know of it."""
        settings, store = self.study.run.study, self.study.store
        learned = learned_split(store, folds=settings.folds)
        folds = f"{settings.folds} folds over {count_rows(learned):,} rows, " if settings.folds > 1 else ""
        self.progress.say(
            f"run {self.study.run.path}: {settings.trials} trials by {settings.searcher}, "
            f"{settings.scheduler}; {folds}{learned.windows} windows, {learned.lengths.sum()} tokens; "
            f"packs of {self._room} on {self.crew.size} worker(s)"
        )
        if self._told:
            self.progress.say(sentence(self._told, store))
        searched = without_rungs(self.past)
        learning = doubts_of_learning(self._searcher, searched, self._left, self._generation)
        for doubt in (*doubts(store), *learning):
            self.progress.say(doubt)

    def _search(self) -> None:
        past = self._complete_round()
        trials = Trials(study=self.study, past=past, told=self._told)
        teach(self._searcher, past)
        self._climb(trials)
        if not self.budget.is_spent and trials.is_any_left:
            suggestions = Suggestions(
                self._searcher,
                lot=self._lot,
                recorder=self.recorder,
                resumed=trials.resumed,
                rungs=trials.new_rungs,
                start=trials.start,
                numbers=trials.numbers,
            )
            parking = Parking(desk=self._desk, lot=self._lot)
            run_trials(self.budget, suggestions, parking, self.study.run.path / RAY_STATE)
        self._desk.drain()
        self._desk.halt_all()

    def _complete_round(self) -> list[Past]:
        """The desk knows what it knew, and the round that it was broken off in is over."""
        for each in self.past:
            self._desk.recall(each)
        run = self.study.run
        orders, are_in = read_round(run.events(), self.past)
        self._desk.complete(orders, {each.trial: each.unheard for each in are_in if each.unheard is not None})
        return read_past(run.events())

    def _climb(self, trials: Trials) -> None:
        """Begin with the rungs that need no training; the first pack is put together meanwhile."""
        begun = {past.trial for past in trials.past}
        solved = [rung for rung in trials.rungs if rung.is_solved]
        for rung in solved:
            if rung.trial not in begun:
                self.recorder.suggested(rung.trial, rung.to_json(), rung.rung)
        if solved:
            self._desk.climb(solved)

    def _play_finale(self) -> None:
        finale = Finale(crew=self.crew, recorder=self.recorder, progress=self.progress)
        finale.play(find_finalists(self.study.run), room=self._room * self.study.run.study.folds)

    @cached_property
    def _desk(self) -> Desk:
        rungs = plan_rungs(
            self.study.space.typed_corners(),
            learned_split(self.study.store, folds=self.study.run.study.folds).windows,
            halving=self.study.run.study.scheduler == "asha",
            one_token=self.study.store.manifest.one_token,
        )
        ladder = rungs_of(head_shape(self.study.store))
        over = {each.trial for each in self.past if each.finished}
        trained = [rung for rung in ladder if not rung.is_solved and rung.trial not in over]
        return Desk(
            crew=self.crew,
            pool=Pool(rungs, self._room),
            halving=Halving(rungs, spared=[rung.trial for rung in ladder]),
            recorder=self.recorder,
            progress=self.progress,
            total=self._left + len(trained),
            budget=self.budget,
        )

    @cached_property
    def _lot(self) -> Lot:
        return Lot(capacity=min(self._generation, self._capacity))

    @cached_property
    def _searcher(self) -> Searcher:
        return open_searcher(self.study, self._told)

    @cached_property
    def _told(self) -> list[Told]:
        """What this search was told of earlier runs."""
        return read_told(self.study.run.events())

    @property
    def _left(self) -> int:
        """Trials that have not ended."""
        ended = sum(each.finished for each in without_rungs(self.past))
        return self.study.run.study.trials - ended

    @property
    def _generation(self) -> int:
        return self.study.run.study.generation or self._capacity

    @property
    def _capacity(self) -> int:
        """Heads that all workers have room for."""
        return self.crew.size * self._room

    @cached_property
    def _room(self) -> int:
        """Heads of a pack: as many as memory held when the run began: beside others they round otherwise."""
        run = self.study.run
        if run.study.pack != AUTO:
            return int(run.study.pack)
        fits = self.crew.capacity(self.study.sizes.planned())
        if run.study.room is None or fits < run.study.room:
            run.change_study(room=fits)
            return fits
        return run.study.room


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


def is_over(run: Run) -> bool:
    """Whether the last session came to its end, and left nothing to a finale."""
    return run.has_ended and not find_finalists(run)


def run_trials(budget: Budget, suggestions: Suggestions, parking: Parking, storage: Path) -> None:
    """By Ray Tune, until no more are suggested or the budget is spent."""
    os.environ.update(TUNE_SETTINGS)
    # a trial's process that dies costs nothing: Ray would tell of it with a traceback
    logging.getLogger("ray.tune").setLevel(logging.CRITICAL)
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


def doubts_of_learning(searcher: Searcher, past: Sequence[Past], left: int, generation: int) -> Iterator[str]:
    scored = len(searcher.told) + sum(each.score is not None for each in past)
    needed = searcher.startup_points or 0
    if scored < needed and 2 * needed < left <= generation:
        yield (
            f"all {left} heads are drawn before the first has a score, so no better than at random: "
            "a smaller --generation, or more trials, let the searcher learn"
        )
