"""Our searchers behind Ray Tune's interface, and the trials that a resumed run brings along."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from ray.tune.search import Searcher as TuneSearcher

from bv_search.tune.packing import FAILURE, TRIAL
from bv_search.tune.ray.scheduler import LiveTrials
from bv_search.tune.recorder import Recorder
from bv_search.tune.searchers import Searcher
from bv_search.tune.space import Config
from bv_search.tune.trials import Suggestion

FINISHED = "FINISHED"  # Ray Tune's word for a searcher that has no more


class RaySearcher(TuneSearcher):
    """What Tune asks for the next trial.

    It hands out configs while there is room for them: resumed trials, then rungs of the ladder that are
    trained, then the space's starting points, then the searcher's own.
    """

    def __init__(
        self,
        searcher: Searcher,
        *,
        trials: LiveTrials,
        recorder: Recorder,
        resumed: Iterable[Suggestion],
        rungs: Iterable[Suggestion] = (),
        start: Iterable[Config],
        numbers: Iterable[int],
    ) -> None:
        super().__init__(metric="score", mode="max")
        self._searcher = searcher
        self._trials = trials
        self._recorder = recorder
        self._resumed = deque(resumed)
        self._rungs = deque(rungs)
        self._start = deque(start)
        self._numbers = deque(numbers)  # of the trials still to be begun
        self._begun: dict[str, Suggestion] = {}  # by Tune's id of a trial
        self._scores: dict[str, float] = {}

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles what it is given, to restore it later; a run resumes from its journal instead."""
        return {}

    def suggest(self, trial_id: str) -> dict[str, Any] | str | None:
        if not self._trials.admits:
            return FINISHED if self._trials.is_over else None
        suggestion = self._next()
        self._trials.exhausted = suggestion is None or not (self._resumed or self._rungs or self._numbers)
        if suggestion is None:
            return FINISHED if self._trials.is_over else None
        self._begun[trial_id] = suggestion
        self._trials.live.add(suggestion.trial)
        return {TRIAL: suggestion.trial, **suggestion.config}

    def on_trial_result(self, trial_id: str, result: dict[str, Any]) -> None:
        self._scores[self._begun[trial_id].trial] = result["score"]

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Tell the searcher how far the head came: a trial ended while paused has no result of its own."""
        begun = self._begun.pop(trial_id)
        trial = begun.trial
        self._trials.live.discard(trial)
        self._trials.parked.discard(trial)
        if trial in self._trials.orphans:
            self._trials.orphans.discard(trial)
            self._resumed.append(begun)
            self._trials.exhausted = False
            return
        result = result or {}
        if "score" in result:
            self._scores[trial] = result["score"]
        failed = error or FAILURE in result
        if begun.rung is None:
            self._searcher.tell(trial, None if failed else self._scores.get(trial))

    def save_to_dir(self, checkpoint_dir: str, session_str: str = "default") -> None:
        """The journal is what a run resumes from."""

    def save(self, checkpoint_path: str) -> None:
        """The journal is what a run resumes from."""

    def restore(self, checkpoint_path: str) -> None:
        raise AssertionError("a run resumes from its journal")

    def _next(self) -> Suggestion | None:
        if self._resumed:
            return self._resumed.popleft()
        if self._rungs:
            rung = self._rungs.popleft()
            self._recorder.suggested(rung.trial, rung.config, rung.rung)
            return rung
        if not self._numbers:
            return None
        trial = f"{self._numbers[0]:04d}"
        config = self._new_config(trial)
        if config is None:
            self._numbers.clear()
            return None
        self._numbers.popleft()
        self._recorder.suggested(trial, config)
        return Suggestion(trial=trial, config=config)

    def _new_config(self, trial: str) -> Config | None:
        if self._start:
            config = self._start.popleft()
            self._searcher.adopt(trial, self._searcher.space.draws(config))
            return config
        draws = self._searcher.ask(trial)
        return None if draws is None else self._searcher.space.config(draws)
