"""The search: a study, its scan workers and a session on them, from the options to the leaderboard."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from threading import Thread, get_native_id

from bv_search.autoscaler import find_growth
from bv_search.cluster import machines, ray_session
from bv_search.command import AUTO, Progress
from bv_search.errors import EncoderError
from bv_search.files import absolute
from bv_search.run.folder import Run
from bv_search.run.leaderboard import best
from bv_search.run.mlflow import MlflowMirror
from bv_search.source import STORE
from bv_search.source.choice import SourceChoice, compare_sources
from bv_search.store.store import Store
from bv_search.tune.config import TuneConfig
from bv_search.tune.finale import is_over
from bv_search.tune.ray.workers import RayWorkers
from bv_search.tune.recorder import Recorder
from bv_search.tune.resume import Past, read_past, without_rungs
from bv_search.tune.step_times import StepTimes
from bv_search.tune.study import OpenStudy, open_study
from bv_search.tune.workers import WorkerInput, WorkerShare

NEEDED_BY_THE_SESSION = ("bv_search.tune.session", "hyperopt")
NEEDED_AT_THE_END = (
    "bv_search.ensemble.ensemble",
    "bv_search.model.loading",
    "bv_search.model.registry",
    "mlflow.pyfunc",
)
LEAST_PRIORITY = 19


def run(config: TuneConfig, progress: Progress) -> Run:
    """Search, and leave a run folder whose trials have weights, predictions and scores."""
    times = StepTimes()
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
        if (ending := _ending(study, past)) is not None:
            progress.say(ending)
            _combine(study, progress)
            mirror = connect()
            if mirror.close():
                _register(study, mirror, progress)
            _tell_of_trouble(mirror, progress)
            return study.run
        _import_aside(NEEDED_BY_THE_SESSION)
        with ThreadPoolExecutor(1) as aside:
            with ray_session(), _scan_workers(config, study, progress) as workers:
                from bv_search.tune.session import Session

                mirror = connect()
                _settle_precision(study.run, workers, progress)
                recorder = Recorder(study.run, study.store, mirror)
                session = Session(
                    study=study,
                    past=past,
                    workers=workers,
                    recorder=recorder,
                    budget=study.budget(config.time_budget, past),
                    progress=progress,
                    times=times,
                )
                _import_aside(NEEDED_AT_THE_END, priority=LEAST_PRIORITY)
                session.run()
                memory = {"peak_scan_worker": workers.peak_memory()}
                for trouble in workers.troubles():
                    progress.say(trouble)
                combined = aside.submit(_combine, study, progress)  # while Ray ends, which is waiting alone
            combined.result()
        times.note("ensemble")
        _register(study, mirror, progress)
        times.note("register")
        recorder.ended(times.spent(workers.busy()), memory, session.why)
        _tell_of_trouble(mirror, progress)
    progress.close()
    return study.run


def _ending(study: OpenStudy, past: Sequence[Past]) -> str | None:
    """Why there is nothing left to do; None where there is."""
    run, searched = study.run, without_rungs(past)
    if not is_over(run):
        return None
    if sum(each.finished for each in searched) == run.study.trials:
        ended = f"all {len(searched)} trials have ended"
        return f"{ended}: {'the grid has no other points' if study.is_full_grid else '--trials +N adds some'}"
    heard = study.budget(None, past)
    if not heard.is_spent or any(each.position and not each.finished for each in past):
        return None
    return f"the search has ended: {heard.reason}; another --target or --patience lets it go on"


@contextmanager
def _opened(run: Run, *, new: bool) -> Iterator[None]:
    """A new run that got no trial, for want of MLflow, Ray or time, is not left behind: its name is free."""
    try:
        yield
    except BaseException:
        if new and not run.trials():
            shutil.rmtree(run.path, ignore_errors=True)
        raise


@contextmanager
def _mirrored(run: Run) -> Iterator[Callable[[], MlflowMirror]]:
    """MLflow is connected to while Ray starts: each waits mostly for others."""
    with ExitStack() as stack, ThreadPoolExecutor(1) as thread:
        yield thread.submit(lambda: stack.enter_context(MlflowMirror(run).guarded())).result


def _import_aside(names: Sequence[str], *, priority: int = 0) -> None:
    """What takes seconds to import comes while Ray starts, or, on idle cores, while heads train."""

    def import_all() -> None:
        with suppress(OSError, AttributeError):  # priorities of threads are Linux's
            os.setpriority(os.PRIO_PROCESS, get_native_id(), priority)
        for name in names:
            import_module(name)

    Thread(target=import_all, daemon=True).start()


@contextmanager
def _scan_workers(config: TuneConfig, study: OpenStudy, progress: Progress) -> Iterator[RayWorkers]:
    """Scan workers that read the source chosen; where it is not, one of them measures both."""
    there = machines()
    growth, asked = find_growth(there), study.run.study.workers
    share = WorkerShare.of_cluster(there, asked, growth.to_come, is_elastic=growth.is_elastic)
    place, choice = absolute(study.store.path), study.source_choice
    measured = choice.source == AUTO
    inputs = WorkerInput(
        store=place,
        source=STORE if measured else choice.source,
        memory=config.memory,
        cache=config.cache,
        folds=study.run.study.folds,
        precision=study.run.study.precision,
    )
    with ExitStack() as stack:
        workers = stack.enter_context(RayWorkers(inputs, share, progress.say))
        if measured:
            choice = _measured(study.store, workers)
            study.run.change_study(source=choice.source)
        if choice.source != inputs.source:
            stack.close()
            workers = stack.enter_context(
                RayWorkers(replace(inputs, source=choice.source), share, progress.say)
            )
        if choice.why:
            progress.say(str(choice))
        yield workers


def _settle_precision(run: Run, workers: RayWorkers, progress: Progress) -> None:
    """Where it is still to be chosen: a run keeps to it from then on."""
    if run.study.precision == AUTO:
        choice = workers.settle_precision()
        run.change_study(precision=choice.precision)
        progress.say(str(choice))


def _measured(store: Store, workers: RayWorkers) -> SourceChoice:
    try:
        return compare_sources(store, workers.rates())
    except EncoderError as error:  # on another machine than this one, say
        return SourceChoice(source=STORE, why=f"its encoder cannot be measured: {error}")


def _tell_of_trouble(mirror: MlflowMirror, progress: Progress) -> None:
    if mirror.trouble is not None:
        progress.say(f"not all is in MLflow, until the next command on this run: {mirror.trouble}")


def _combine(study: OpenStudy, progress: Progress) -> None:
    """The top of the ladder: chosen once, and again where heads were added since."""
    from bv_search.ensemble import ensemble  # with torch, which the search itself does without
    from bv_search.ensemble.config import EnsembleConfig

    run = study.run
    if best(run.trials()) and (run.ensemble() is None or run.unconsidered() is not None):
        ensemble.decide([run], study.store, EnsembleConfig(runs=(str(run.path),)), progress)


def _register(study: OpenStudy, mirror: MlflowMirror, progress: Progress) -> None:
    """What the run answers with, as a servable model; a failure is told, and costs the run nothing."""
    from bv_search.model.registry import register

    if best(study.run.trials()) and register(study.run, study.store, mirror) is None:
        progress.say(f"the model is not registered in MLflow: {mirror.trouble}")
