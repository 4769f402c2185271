"""The trials of a search: those of earlier sessions, and those to come."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bv_search.scan.ladder import LadderRung
from bv_search.space.space import Config
from bv_search.tune.resume import Past, without_rungs
from bv_search.tune.searchers import SEARCHERS, Searcher
from bv_search.tune.study import OpenStudy
from bv_search.tune.warm_start import Told


@dataclass(frozen=True, kw_only=True)
class Suggestion:
    """A trial to begin, or to go on with: one of an earlier session, or of a process that died."""

    trial: str
    config: Config
    rung: str | None = None  # of the ladder: no searcher hears of it


@dataclass(frozen=True, kw_only=True)
class Trials:
    study: OpenStudy
    past: list[Past]
    told: list[Told]  # of earlier runs

    @property
    def is_any_left(self) -> bool:
        return bool(self.resumed or self.new_rungs or self.numbers)

    @property
    def searched(self) -> list[Past]:
        return without_rungs(self.past)

    @property
    def numbers(self) -> range:
        """Of those that are not suggested yet."""
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
        """Those that are not solved or trained yet."""
        done = {past.trial for past in self.past if past.finished}
        return [rung for rung in self.study.ladder if rung.trial not in done]

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


def open_searcher(study: OpenStudy, told: Sequence[Told]) -> Searcher:
    """One that knows what earlier runs found."""
    space, settings = study.space, study.run.study
    searcher = SEARCHERS[settings.searcher](space, settings.seed, study.sizes.fit, study.size)
    searcher.remember([(space.draws(each.config), each.score) for each in told])
    return searcher


def teach(searcher: Searcher, trials: Sequence[Past]) -> None:
    """What earlier sessions found out."""
    for past in without_rungs(trials):
        searcher.adopt(past.trial, searcher.space.draws(past.config))
        if not past.is_live:
            searcher.tell(past.trial, past.score)
