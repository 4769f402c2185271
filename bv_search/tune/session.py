"""A session of a search: what its scan workers do, from the first suggestion to the last answers."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from bv_search.command import AUTO, Progress
from bv_search.scan.store_view import count_rows, doubts, learned_split
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tune.budget import Budget, interruptible
from bv_search.tune.dispatcher import Dispatcher
from bv_search.tune.finale import Finale, find_finalists
from bv_search.tune.halving import Halving
from bv_search.tune.packing import Packer, plan_rungs
from bv_search.tune.ray.scheduler import LiveTrials, RayScheduler
from bv_search.tune.ray.searcher import RaySearcher
from bv_search.tune.ray.tuner import run_trials
from bv_search.tune.recorder import Recorder
from bv_search.tune.resume import Past, read_past, read_round, without_rungs
from bv_search.tune.searchers import Searcher
from bv_search.tune.step_times import StepTimes
from bv_search.tune.study import OpenStudy
from bv_search.tune.trials import Trials, open_searcher, teach
from bv_search.tune.warm_start import Told, read_told, sentence
from bv_search.tune.workers import Workers

RAY_STATE = "ray"  # the folder of a run where Ray Tune keeps its own
MOST_ANSWERS = 1 << 29  # numbers that heads say at once: 2 GB


@dataclass(kw_only=True)
class Session:
    study: OpenStudy
    past: list[Past]  # trials, as earlier sessions left them
    workers: Workers
    recorder: Recorder
    budget: Budget
    progress: Progress
    times: StepTimes
    why: str | None = field(default=None, init=False)  # it ended before the last trial
    _room: int = field(init=False)  # heads of a pack

    def run(self) -> None:
        """Search, score what was found, and have the best learn once more."""
        self.recorder.sweep(self.past)
        self._room = self._settle_room()
        self._announce()
        self.times.note("start")
        with interruptible(self.budget, self.progress):
            self._search()
            self.times.note("search")
            self.why = self.budget.reason  # before its time is up while heads are scored
            self._dispatcher.finish(min(self._room, heads_to_hear(self.study.store)))
            self.times.note("score")
            if not self.budget.is_interrupted:
                self._play_finale()
                self.times.note("finale")
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
            f"packs of {self._room} on {self.workers.size} worker(s)"
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
        self._solve_ladder(trials)
        if not self.budget.is_spent and trials.is_any_left:
            searcher = RaySearcher(
                self._searcher,
                trials=self._live,
                recorder=self.recorder,
                resumed=trials.resumed,
                rungs=trials.new_rungs,
                start=trials.start,
                numbers=trials.numbers,
            )
            scheduler = RayScheduler(dispatcher=self._dispatcher, trials=self._live)
            run_trials(self.budget, searcher, scheduler, self.study.run.path / RAY_STATE)
        self._dispatcher.drain()
        self._dispatcher.halt_all()

    def _complete_round(self) -> list[Past]:
        """The dispatcher knows what it knew, and the round that it was broken off in is over."""
        for each in self.past:
            self._dispatcher.recall(each)
        run = self.study.run
        orders, are_in = read_round(run.events(), self.past)
        self._dispatcher.complete(
            orders, {each.trial: each.unheard for each in are_in if each.unheard is not None}
        )
        return read_past(run.events())

    def _solve_ladder(self, trials: Trials) -> None:
        """Begin with the rungs that need no training; the first pack is put together meanwhile."""
        begun = {past.trial for past in trials.past}
        solved = [rung for rung in trials.rungs if rung.is_solved]
        for rung in solved:
            if rung.trial not in begun:
                self.recorder.suggested(rung.trial, rung.to_json(), rung.rung)
        if solved:
            self._dispatcher.solve_ladder(solved)

    def _play_finale(self) -> None:
        finale = Finale(
            workers=self.workers, recorder=self.recorder, budget=self.budget, progress=self.progress
        )
        finale.play(find_finalists(self.study.run), room=self._room * self.study.run.study.folds)

    @cached_property
    def _dispatcher(self) -> Dispatcher:
        rungs = plan_rungs(
            self.study.space.typed_corners(),
            learned_split(self.study.store, folds=self.study.run.study.folds).windows,
            halving=self.study.run.study.scheduler == "asha",
            one_token=self.study.store.manifest.one_token,
        )
        ladder = self.study.ladder
        over = {each.trial for each in self.past if each.finished}
        trained = [rung for rung in ladder if not rung.is_solved and rung.trial not in over]
        return Dispatcher(
            workers=self.workers,
            packer=Packer(rungs, self._room),
            halving=Halving(rungs, spared=[rung.trial for rung in ladder]),
            recorder=self.recorder,
            progress=self.progress,
            total=self._left + len(trained),
            budget=self.budget,
        )

    @cached_property
    def _live(self) -> LiveTrials:
        return LiveTrials(capacity=min(self._generation, self._capacity))

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
        return self.workers.size * self._room

    def _settle_room(self) -> int:
        """As many heads as memory held when the run began: beside others they round otherwise."""
        run = self.study.run
        if run.study.pack != AUTO:
            return int(run.study.pack)
        fits = self.workers.capacity(self.study.sizes.planned())
        if run.study.room is None or fits < run.study.room:
            run.change_study(room=fits)
            return fits
        return run.study.room


def doubts_of_learning(searcher: Searcher, past: Sequence[Past], left: int, generation: int) -> Iterator[str]:
    scored = len(searcher.told) + sum(each.score is not None for each in past)
    needed = searcher.startup_points or 0
    if scored < needed and 2 * needed < left <= generation:
        yield (
            f"all {left} heads are drawn before the first has a score, so no better than at random: "
            "a smaller --generation, or more trials, let the searcher learn"
        )


def heads_to_hear(store: Store) -> int:
    """Heads whose answers to all rows have room beside each other."""
    splits = [split for role in Role for split in store.splits(role)]
    answers = sum(int(each.lengths.sum()) if store.task.per_token else each.windows for each in splits)
    return max(1, MOST_ANSWERS // (store.task.outputs * answers))
