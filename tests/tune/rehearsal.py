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

from bv_search.command import Progress
from bv_search.precision import FLOAT32, PrecisionChoice
from bv_search.run.folder import JOURNAL, LOCK, Run
from bv_search.run.journal import Journal
from bv_search.scan.scanner import Scanner
from bv_search.tune import search as search_module
from bv_search.tune import session as session_module
from bv_search.tune.config import TuneConfig
from bv_search.tune.packing import TRIAL
from bv_search.tune.ray import searcher as searcher_module
from bv_search.tune.search import run as search
from bv_search.tune.workers import Call, EndedCall, WorkerInput


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
        patch.setattr(searcher_module, "ParkedTrial", TuneTrial)

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


class TuneTrial:
    """What Tune knows of one."""

    def __init__(self, experiment: Any, config: Any) -> None:
        self.config, self.trial_id = config, config[TRIAL]
        self.run_metadata = SimpleNamespace(last_result={})

    def set_status(self, status: str) -> None:
        assert status == Trial.PAUSED, "it needs no process"


class Controller:
    """What a scheduler sees of Tune."""

    def __init__(self, searcher: Any, scheduler: Any) -> None:
        self.live: dict[str, TuneTrial] = {}
        self._searcher, self._scheduler = searcher, scheduler

    def add_trials(self) -> None:
        while not self._searcher.is_finished() and (trial := self._searcher.next_trial()) is not None:
            self.live[trial.trial_id] = trial
            self._scheduler.on_trial_add(self, trial)

    def stop_trial(self, trial: TuneTrial) -> None:
        del self.live[trial.trial_id]
        self._scheduler.on_trial_remove(self, trial)
        self._searcher.on_trial_complete(trial.trial_id)


def fit(budget: Any, searcher: Any, scheduler: Any, storage: Path) -> None:
    """Tune's loop."""
    controller = Controller(searcher, scheduler)
    searcher.add_configurations([SimpleNamespace()])
    while not budget.is_spent and (controller.live or not searcher.is_finished()):
        controller.add_trials()
        assert scheduler.choose_trial_to_run(controller) is None


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
