"""One step after the other. Each goes on where it was interrupted; what is done is not done again."""

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.encoder.identity import weights_files
from bv_search.encoder.location import locate_encoder
from bv_search.errors import OutputError, RunError
from bv_search.extract import extraction
from bv_search.files import check_makeable, read_signed, write_signed
from bv_search.finetune import finetuning
from bv_search.model.loading import is_run
from bv_search.run.lock import exclusive
from bv_search.study import spaces
from bv_search.study.config import SETTINGS, StudiesConfig
from bv_search.study.exchange import exchange
from bv_search.study.folder import StudyFolder
from bv_search.study.steps import (
    EXCHANGE,
    FINETUNE,
    GRID,
    SEARCH,
    StepKind,
    WorkStep,
    is_done,
    plan,
)
from bv_search.tasks.registry import find_task
from bv_search.tune import search
from bv_search.tune.config import TuneConfig

LOCK, SECONDS = ".lock", "seconds.json"


@contextmanager
def holding(config: StudiesConfig) -> Iterator[None]:
    """The folder, for one writer; what it was begun with must be what is asked for."""
    check_makeable(config.out)
    with exclusive(config.out / LOCK):
        _check_settings(config)
        yield


def check_settings(config: StudiesConfig) -> None:
    """Refuse a folder that was begun otherwise."""
    path = config.out / SETTINGS
    if not path.is_file():
        return
    begun, asked = read_signed(path, RunError), config.settings()
    names = [name for name, value in asked.items() if begun.get(name) != value]
    if names:
        raise OutputError(
            "was begun with other settings",
            where=config.out,
            expected=", ".join(f"{name} {begun.get(name)}" for name in names),
            found=", ".join(f"{name} {asked[name]}" for name in names),
            do="choose another --out, or ask for the same",
        )


def check_inputs(config: StudiesConfig) -> None:
    """A misspelt space is no matter for the third step."""
    task = find_task(config.task)
    weights_files(locate_encoder(config.encoder).folder)
    spaces.grid_of(config, task)
    spaces.load(spaces.searched(config, task), one_token=not task.per_token)


def _check_settings(config: StudiesConfig) -> None:
    check_settings(config)
    if not (config.out / SETTINGS).is_file():
        write_signed(config.out / SETTINGS, config.settings())


def do_steps(config: StudiesConfig, progress: Progress) -> None:
    """All that is not there yet."""
    steps = plan(config)
    left = [step for step in steps if not is_done(config, step)]
    if left:
        progress.say(f"{len(steps)} steps, {len(steps) - len(left)} of them done already")
    with ExitStack() as stack:
        if any(step.kind not in (FINETUNE, EXCHANGE) for step in left):
            stack.enter_context(ray_session())  # one for all of them
        for number, step in enumerate(steps, start=1):
            if step in left:
                progress.say(f"{number} of {len(steps)}: {step.name}")
                with _timed(config.out, step):
                    _do(config, step, progress)
                if not is_done(config, step):  # Ctrl-C ends a search as if its time were up
                    raise KeyboardInterrupt


def _do(config: StudiesConfig, step: WorkStep, progress: Progress) -> None:
    made = StudyFolder(config=config)  # anew: each step adds to it
    match step.kind:
        case StepKind.FINETUNE:
            finetuning.run(config.finetuning(), progress)
        case StepKind.EXTRACT:
            assert step.stage is not None, "a store is of one stage"
            extraction.run(config.extraction(step.stage), progress)
        case StepKind.EXCHANGE:
            assert step.stage is not None, "heads are of a stage"
            assert step.scored is not None, "and read another's hidden states"
            path = config.exchange_path(step.stage, step.scored)
            exchange(made.heads[step.stage], made.stores[step.scored], path, progress)
        case _:
            search.run(_tuning(made, step), progress)


def _tuning(made: StudyFolder, step: WorkStep) -> TuneConfig:
    """Without folds, so that all heads of all stages are judged by the same rows."""
    config = made.config
    assert step.stage is not None, "a run is of one stage"
    path = config.run_path(step.kind, step.stage)
    return TuneConfig(
        space=_space(made, step.kind, step.stage),
        store=str(config.store_path(step.stage)),
        trials=config.trials if step.kind == SEARCH else None,
        folds=1,
        finalists=0,
        ladder=step.kind == GRID,  # once a stage
        name=path.name,
        runs=path.parent,
        resume=is_run(path),
    )


def _space(made: StudyFolder, kind: StepKind, stage: float) -> str | spaces.SpaceDocument:
    config = made.config
    match kind:
        case StepKind.GRID:
            return spaces.grid_of(config, made.task)
        case StepKind.SEARCH:
            return spaces.searched(config, made.task)
        case StepKind.WINNER:
            found = made.run(SEARCH, stage)
            assert found is not None, "a search comes before its winner"
            ranked = [record for record in found.finished_trials() if record.is_searched]
            return spaces.one_head(ranked[0].config, config.seeds)
        case _:
            return spaces.one_head(made.best[stage].config, config.seeds, config.shares)


@contextmanager
def _timed(out: Path, step: WorkStep) -> Iterator[None]:
    """The seconds of a step, of all its sessions but those that were killed."""
    began = time.monotonic()
    try:
        yield
    finally:
        known = read_seconds(out)
        spent = known.get(step.name, 0.0) + time.monotonic() - began
        write_signed(out / SECONDS, {**known, step.name: round(spent, 2)})


def read_seconds(out: Path) -> Mapping[str, Any]:
    """By the names of steps."""
    path = out / SECONDS
    return read_signed(path, RunError) if path.is_file() else {}
