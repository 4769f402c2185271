"""Our searchers behind Ray Tune's interface, and the trials that a resumed run brings along."""

from collections import deque
from collections.abc import Iterable
from typing import Any

from ray import tune
from ray.tune.experiment import Experiment, Trial
from ray.tune.search import SearchAlgorithm

from bv_search.space.space import Config
from bv_search.tune.packing import TRIAL
from bv_search.tune.ray.scheduler import LiveTrials
from bv_search.tune.recorder import Recorder
from bv_search.tune.searchers import Searcher
from bv_search.tune.trials import Suggestion

CORE = tune.PlacementGroupFactory([{"CPU": 1}])  # that none takes: Tune would note two kilobytes for each


class ParkedTrial(Trial):
    """It waits for its head, and is never run: Tune need not ask its cluster for what it would run."""

    def __init__(self, experiment: Experiment, config: Config) -> None:
        super().__init__(
            experiment.spec["run"],
            stub=True,
            config=config,
            storage=experiment.spec["storage"],
            placement_group_factory=CORE,
            trial_name_creator=_name,
            trial_dirname_creator=_name,
        )
        self.init_local_path()

    def get_json_state(self) -> tuple[str, str]:
        """Tune writes it down, to restore it later; a run resumes from its journal instead."""
        return "", ""


def _name(trial: Trial) -> str:
    return f"trial-{trial.config[TRIAL]}"


class RaySearcher(SearchAlgorithm):
    """What Tune asks for the next trial.

    It hands out trials while there is room for them: resumed trials, then rungs of the ladder that are
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
        self._searcher = searcher
        self._trials = trials
        self._recorder = recorder
        self._resumed = deque(resumed)
        self._rungs = deque(rungs)
        self._start = deque(start)
        self._numbers = deque(numbers)  # of the trials still to be begun
        self._begun: dict[str, Suggestion] = {}  # by Tune's id of a trial

    def __getstate__(self) -> dict[str, Any]:
        """Tune pickles what it is given, to restore it later; a run resumes from its journal instead."""
        return {}

    def add_configurations(self, experiments: Any) -> None:
        (self._experiment,) = experiments

    def is_finished(self) -> bool:
        return self._finished or self._trials.exhausted

    def next_trial(self) -> Trial | None:
        if not self._trials.admits:
            return None
        suggestion = self._next()
        self._trials.exhausted = suggestion is None or not (self._resumed or self._rungs or self._numbers)
        if suggestion is None:
            return None
        trial = ParkedTrial(self._experiment, {TRIAL: suggestion.trial, **suggestion.config})
        self._begun[trial.trial_id] = suggestion
        self._trials.live.add(suggestion.trial)
        return trial

    def on_trial_complete(
        self, trial_id: str, result: dict[str, Any] | None = None, error: bool = False
    ) -> None:
        """Tell the searcher how far the head came: to Tune a trial that is paused has no result."""
        begun = self._begun.pop(trial_id)
        self._trials.live.discard(begun.trial)
        score = self._trials.scores.pop(begun.trial, None)
        if begun.rung is None:
            self._searcher.tell(begun.trial, score)

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
