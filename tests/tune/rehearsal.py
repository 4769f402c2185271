"""Searches in one process: everything is real but Ray, whose workers and trials are called in turn.

So a search takes a second or two, and can be broken off at every line of its journal.
"""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, Self

import pytest
from ray.tune.experiment import Trial
from ray.tune.schedulers import TrialScheduler

from bv_search.command import Progress
from bv_search.precision import FLOAT32, PrecisionChoice
from bv_search.run.folder import JOURNAL, LOCK, Run
from bv_search.run.journal import Journal
from bv_search.scan.scanner import Scanner
from bv_search.tune import search as search_module
from bv_search.tune import session as session_module
from bv_search.tune.config import TuneConfig
from bv_search.tune.ray.trainable import NEWS
from bv_search.tune.search import run as search
from bv_search.tune.workers import Call, EndedCall, WorkerInput

FINISHED = "FINISHED"


class Stage:
    """Where searches of one store run; `pace` decides which worker is done first."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.scanners: dict[WorkerInput, Scanner] = {}
        self.pace = Random(0)
        patch.setattr(search_module, "ray_session", nullcontext)
        patch.setattr(search_module, "machines", lambda: [{"CPU": 4.0}])
        patch.setattr(search_module, "RayWorkers", self._workers)
        patch.setattr(search_module, "MlflowMirror", lambda run: Mirror())
        patch.setattr(search_module, "_register", lambda *_: None)
        patch.setattr(session_module, "run_trials", fit)

    def search(self, config: TuneConfig) -> Run:
        return Run.open(search(config, Progress(quiet=True)).path)

    def resume(self, run: Path, **more: Any) -> Run:
        return self.search(TuneConfig(name=run.name, resume=True, runs=run.parent, **more))

    def _workers(self, inputs: WorkerInput, share: Any, tell: Callable[[str], None]) -> "Workers":
        if inputs not in self.scanners:
            self.scanners[inputs] = Scanner(
                inputs.store, source=inputs.source, memory=inputs.memory, folds=inputs.folds
            )
        return Workers(self.scanners[inputs], share.workers, self.pace)


class Mirror:
    trouble: str | None = None

    def guarded(self) -> Any:
        return nullcontext(self)

    def sync(self) -> bool:
        return True

    def close(self, status: str = "") -> None: ...


class Workers:
    """A call is done when it is asked for."""

    def __init__(self, scanner: Scanner, workers: int, pace: Random) -> None:
        self._scanner, self.size, self._pace = scanner, workers, pace
        self.running: list[Call] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    @property
    def idle(self) -> int:
        return self.size - len(self.running)

    def capacity(self, configs: Sequence[Any]) -> int:
        return self._scanner.capacity(configs, self.size)

    def settle_precision(self) -> PrecisionChoice:
        return PrecisionChoice(precision=FLOAT32, why="as of a rehearsal")

    def troubles(self) -> list[str]:
        return []

    def peak_memory(self) -> int:
        return 1

    def busy(self) -> dict[str, float]:
        return {}

    def expect(self, calls: int) -> None:
        """All are there."""

    def submit(self, call: Call) -> None:
        assert self.idle
        self.running.append(call)

    def finished(self, *, wait: float | None) -> list[EndedCall]:
        if not self.running:
            return []
        call = self.running.pop(self._pace.randrange(len(self.running)))
        return [EndedCall(call=call, result=self._do(call), seconds=0.0)]

    def _do(self, call: Call) -> Any:
        if call.method == "segment":
            heads, stop, score, seconds = call.arguments
            return self._scanner.segment(heads, stop, score=score, seconds=seconds)
        return getattr(self._scanner, call.method)(*call.arguments)


class Controller:
    """What a scheduler sees of Tune."""

    def __init__(self) -> None:
        self.live: dict[str, Any] = {}

    def get_live_trials(self) -> list[Any]:
        return list(self.live.values())

    def pause_trial(self, trial: Any, *, should_checkpoint: bool) -> None:
        trial.status = Trial.PAUSED


def fit(budget: Any, searcher: Any, scheduler: Any, storage: Path) -> None:
    """Tune's loop: a trial is paused from its beginning, one that is woken reports."""
    controller, said, number = Controller(), None, 0
    while not budget.is_spent:
        if said != FINISHED:
            said = searcher.suggest(f"{number}")
            if isinstance(said, dict):
                trial = SimpleNamespace(trial_id=f"{number}", config=said, status=Trial.PENDING)
                trial.run_metadata = SimpleNamespace(metric_analysis={}, metric_n_steps={})
                trial.set_config = lambda config, trial=trial: setattr(trial, "config", config)
                trial.set_status = lambda status, trial=trial: setattr(trial, "status", status)
                controller.live[trial.trial_id] = trial
                scheduler.on_trial_add(controller, trial)
                number += 1
        elif not controller.live:
            break
        if (trial := scheduler.choose_trial_to_run(controller)) is not None:
            _report(controller, searcher, scheduler, trial)
    for trial in controller.get_live_trials():
        scheduler.on_trial_remove(controller, trial)
        searcher.on_trial_complete(trial.trial_id)


def _report(controller: Controller, searcher: Any, scheduler: Any, trial: Any) -> None:
    result = dict(trial.config[NEWS])
    trial.config = {key: value for key, value in trial.config.items() if key != NEWS}
    trial.status = Trial.RUNNING
    stops = result["done"] or (scheduler.on_trial_result(controller, trial, result) == TrialScheduler.STOP)
    if stops:
        del controller.live[trial.trial_id]
        scheduler.on_trial_complete(controller, trial, result)
        searcher.on_trial_complete(trial.trial_id, result)
        return
    searcher.on_trial_result(trial.trial_id, result)


@contextmanager
def watched(place: Path, patch: pytest.MonkeyPatch) -> Iterator[list[Path]]:
    """What stood on the disk at every moment that a kill could have been noticed.

    That is before and after each line of the journal.
    """
    moments: list[Path] = []
    append = Journal.append

    def keep(journal: Journal) -> None:
        copy = place / f"{len(moments):04d}" / journal.path.parent.name
        copy_run(journal.path.parent, copy)
        moments.append(copy)

    def watch(journal: Journal, *events: Any) -> None:
        if is_made := not journal.path.parent.name.startswith("."):
            keep(journal)
        append(journal, *events)
        if is_made:
            keep(journal)

    with patch.context() as here:
        here.setattr(Journal, "append", watch)
        yield moments


def copy_run(run: Path, copy: Path) -> None:
    """By links, but for what is written in place."""

    def link(old: str, new: str) -> None:
        if Path(old).name == JOURNAL:
            shutil.copyfile(old, new)
        else:
            os.link(old, new)

    shutil.copytree(run, copy, copy_function=link, ignore=shutil.ignore_patterns(LOCK))
