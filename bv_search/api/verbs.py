"""A function for each verb: takes what the command line takes, calls the same, returns what was made.

`progress` goes to standard error as on the command line; False silences it, and a function of one argument
gets each line. What is wrong with a request is raised as an error of `bv_search.errors`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from bv_search.api.listener import Listener, listening
from bv_search.api.options import (
    EnsembleOptions,
    ExportOptions,
    ExtractOptions,
    FinetuneOptions,
    PipelineOptions,
    Place,
    PredictOptions,
    ResumeOptions,
    SpaceOptions,
    StudyOptions,
    TuneOptions,
)
from bv_search.errors import UserError
from bv_search.files import home_path

if TYPE_CHECKING:
    from bv_search.api.run import AnsweringRun
    from bv_search.doctor.diagnosis import Diagnosis
    from bv_search.ensemble.result import EnsembleResult
    from bv_search.export.export import ExportResult
    from bv_search.finetune.stage_folder import SavedStage
    from bv_search.predict.predict import PredictResult
    from bv_search.report.report import ReportResult
    from bv_search.run.folder import Run
    from bv_search.store.store import Store
    from bv_search.store.verify import Verification
    from bv_search.study.config import StudiesConfig
    from bv_search.study.quote import Quote
    from bv_search.study.studies import StudiesDone
    from bv_search.tune.config import TuneConfig
    from bv_search.tune.dry_run import DryRun
    from bv_search.tune.rerun import Rerun


@overload
def finetune(
    task: Place,
    *,
    encoder: Place,
    fraction: float,
    data: Place | None = None,
    out: Place | None = None,
    progress: Listener = True,
    **options: Unpack[FinetuneOptions],
) -> "SavedStage": ...
@overload
def finetune(
    task: Place,
    *,
    encoder: Place,
    fraction: Iterable[float],
    data: Place | None = None,
    out: Place | None = None,
    progress: Listener = True,
    **options: Unpack[FinetuneOptions],
) -> "list[SavedStage]": ...


def finetune(
    task: Place,
    *,
    encoder: Place,
    fraction: float | Iterable[float],
    data: Place | None = None,
    out: Place | None = None,
    progress: Listener = True,
    **options: Unpack[FinetuneOptions],
) -> "SavedStage | list[SavedStage]":
    """Fine-tune an encoder for a fraction of an epoch, or for several in one go: a stage for each.

    `task` is a name or a YAML file, `encoder` a folder or a name on the Hub, `data` a folder or file (None:
    the Hub), `out` a folder of stages (None: stages/TASK). Stages that are there are not made again. Heads of
    the space `heads` ride along: at each stage `.heads.path` is a run of them.
    """
    from bv_search.finetune import finetuning
    from bv_search.finetune.config import FinetuneConfig

    fractions = _fractions(fraction)
    config = FinetuneConfig(
        task=str(task),
        encoder=str(encoder),
        fractions=fractions,
        out=home_path(out) if out is not None else Path("stages") / Path(task).stem,
        data=_text(data),
        **_spelt(options, "heads"),
    )
    with listening(progress) as heard:
        stages = finetuning.run(config, heard)
    return stages if isinstance(fraction, Iterable) else stages[0]


def extract(
    encoder: "SavedStage | Place",
    *,
    task: Place | None = None,
    data: Place | None = None,
    out: Place | None = None,
    progress: Listener = True,
    **options: Unpack[ExtractOptions],
) -> "Store":
    """Run a stage, or any encoder, over a task's data and keep its hidden states in a store.

    `task` is that of the stage where it is not given, `out` stores/TASK-STAGE. A store that is there is
    opened, one that is half made is gone on with.
    """
    from bv_search.extract import extraction
    from bv_search.extract.config import ExtractConfig
    from bv_search.store.store import Store

    place = _place_of(encoder)
    named = str(task) if task is not None else _task_of(place)
    config = ExtractConfig(
        task=named,
        encoder=place,
        out=str(out) if out is not None else f"stores/{Path(named).stem}-{Path(place).name}",
        data=_text(data),
        **options,
    )
    with listening(progress) as heard:
        extraction.run(config, heard)
    return Store.open(config.out)


def tune(
    store: "Store | Place", *, progress: Listener = True, **options: Unpack[TuneOptions]
) -> "AnsweringRun":
    """Search for the best head on a store; one pass over the data trains a whole pack of heads.

    `space` is the name of a shipped space, a YAML file, or what stands in one as a dict. All else is as in
    `bv-search tune --help`, by the names of `TuneConfig`.
    """
    from bv_search.tune import search

    with listening(progress) as heard:
        return _opened(search.run(_tune_config(_path_of(store), options), heard).path)


def resume(
    run: "Run | Place",
    *,
    more: int | None = None,
    store: "Store | Place | None" = None,
    progress: Listener = True,
    **options: Unpack[ResumeOptions],
) -> "AnsweringRun":
    """Go on with a run that was interrupted, or with `more` trials than it has."""
    from bv_search.tune import search
    from bv_search.tune.config import More

    path = Path(_path_of(run))
    config = _tune_config("" if store is None else _path_of(store), options)
    if more is not None:
        config = replace(config, trials=More(more))
    with listening(progress) as heard:
        search.run(replace(config, resume=True, name=path.name, runs=path.parent), heard)
    return _opened(path)


def rerun(run: "Run | Place", trial: str, *, memory: int | None = None, progress: Listener = True) -> "Rerun":
    """Train one trial again, and compare it with what the run kept; `.agrees` is the verdict."""
    from bv_search.tune import rerun as again

    with listening(progress) as heard:
        return again.rerun(Path(_path_of(run)), trial, heard, memory=memory)


def dry_run(
    store: "Store | Place | None" = None, *, shape: str | None = None, **options: Unpack[SpaceOptions]
) -> "DryRun":
    """Every head of a space with its size, and what a search would read, write and take.

    `shape`, such as "25x1024", stands in for a store.
    """
    from bv_search.tune import dry_run as dry

    if (store is None) == (shape is None):
        raise UserError("a dry run needs a store or a shape", expected="one of them")
    return dry.dry_run(_tune_config("" if store is None else _path_of(store), options), shape)


def ensemble(
    run: "Run | Place | Sequence[Run | Place]",
    *,
    progress: Listener = True,
    **options: Unpack[EnsembleOptions],
) -> "EnsembleResult":
    """Combine heads of a run, or of several on one store, with the encoder; the first run keeps it."""
    from bv_search.ensemble import ensemble as combining
    from bv_search.ensemble.config import EnsembleConfig
    from bv_search.errors import UnknownName
    from bv_search.model.combine import Method

    method = options.get("method", EnsembleConfig.method)
    if method not in set(Method):
        raise UnknownName("method", method, Method)
    named: dict[str, Any] = {**options, "method": Method(method)}
    with listening(progress) as heard:
        return combining.run(EnsembleConfig(runs=_paths_of(run), **named), heard)


def report(
    run: "Run | Place | Sequence[Run | Place]",
    *,
    together: Place | None = None,
    data: Place | None = None,
    mlflow: bool = True,
    progress: Listener = True,
) -> "ReportResult":
    """Write the report of each run into its folder; a notebook shows it."""
    from bv_search.report import report as reporting
    from bv_search.report.config import ReportConfig

    config = ReportConfig(runs=_paths_of(run), together=_text(together), data=_text(data), mlflow=mlflow)
    with listening(progress) as heard:
        return reporting.run(config, heard)


def predict(
    model: "Run | Place",
    *,
    store: "Store | Place | None" = None,
    progress: Listener = True,
    **options: Unpack[PredictOptions],
) -> "PredictResult":
    """Answer rows with a run, a head or a saved model, and write the answers; `.answers.rows` has them too.

    For texts at hand see `run.best.predict(texts)`.
    """
    from bv_search.predict import predict as predicting
    from bv_search.predict.config import PredictConfig

    place = None if store is None else _path_of(store)
    config = PredictConfig(place=_path_of(model), store=place, **options)
    with listening(progress) as heard:
        return predicting.run(config, heard)


def export(
    run: "Run | Place", to: Place, *, progress: Listener = True, **options: Unpack[ExportOptions]
) -> "ExportResult":
    """Write a model of a run as a new folder to publish, which `Model.from_pretrained` and `predict` take."""
    from bv_search.export import export as exporting
    from bv_search.export.config import ExportConfig

    config = ExportConfig(run=_path_of(run), to=str(to), **options)
    with listening(progress) as heard:
        return exporting.run(config, heard)


def verify(place: "Store | Run | Place", *, progress: Listener = True) -> "Verification":
    """Every file of a store or a run against its digest; `.ok` is the verdict, `.damaged` the list."""
    from bv_search.verify import verification

    with listening(progress) as heard:
        return verification.run(_path_of(place), heard)


def pipeline(
    task: Place,
    *,
    encoder: Place,
    out: Place,
    data: Place | None = None,
    progress: Listener = True,
    **options: Unpack[PipelineOptions],
) -> "AnsweringRun":
    """All steps from data to a report, as `bv-search run`; what is done already is not done again."""
    from bv_search.pipeline import pipeline as whole
    from bv_search.pipeline.config import PipelineConfig

    config = PipelineConfig(
        task=str(task), encoder=str(encoder), data=_text(data), out=home_path(out), **_spelt(options)
    )
    with listening(progress) as heard:
        return _opened(whole.run(config, heard).run.path)


def study(
    task: Place,
    *,
    encoder: Place,
    out: Place,
    data: Place | None = None,
    progress: Listener = True,
    **options: Unpack[StudyOptions],
) -> "StudiesDone":
    """How little fine-tuning, data and head is enough: the studies, as `bv-search study`, with a page.

    What is done already is not done again; a notebook shows the page.
    """
    from bv_search.study import studies

    with listening(progress) as heard:
        return studies.run(_studies_config(task, encoder, out, data, options), heard)


def quote(
    task: Place,
    *,
    encoder: Place,
    out: Place,
    data: Place | None = None,
    progress: Listener = True,
    **options: Unpack[StudyOptions],
) -> "Quote":
    """What `study` would take, in seconds and bytes, by rates measured here; nothing is written."""
    from bv_search.study import studies

    with listening(progress) as heard:
        return studies.dry_run(_studies_config(task, encoder, out, data, options), heard)


def _studies_config(
    task: Place, encoder: Place, out: Place, data: Place | None, options: Mapping[str, Any]
) -> "StudiesConfig":
    from bv_search.study.config import StudiesConfig

    named = _spelt(options)
    if isinstance(named.get("heads"), Path):
        named["heads"] = str(named["heads"])
    return StudiesConfig(task=str(task), encoder=str(encoder), data=_text(data), out=home_path(out), **named)


def demo(*, progress: Listener = True, **options: Unpack[TuneOptions]) -> "AnsweringRun":
    """A search on text and an encoder that the project makes itself; they are kept in the cache."""
    from bv_search.demo import demonstrate

    with listening(progress) as heard:
        said = demonstrate(_tune_config("", options), heard).json
    return _opened(Path(said["run"]))


def doctor(runs: Place | None = None) -> "Diagnosis":
    """What this machine offers, and what the verbs will choose on it."""
    from bv_search.doctor.diagnosis import diagnose

    return diagnose() if runs is None else diagnose(home_path(runs))


def _tune_config(store: str, options: Mapping[str, Any]) -> "TuneConfig":
    from bv_search.tune.config import TuneConfig

    named = _spelt(options)
    if "warm_start" in named:
        named["warm_start"] = tuple(map(Path, _paths_of(named["warm_start"])))
    if "runs" in named:
        named["runs"] = home_path(named["runs"])
    return TuneConfig(store=store, **named)


def _spelt(options: Mapping[str, Any], option: str = "space") -> dict[str, Any]:
    """A space in a file is named by a text."""
    space = options.get(option)
    return {**options, option: str(space)} if isinstance(space, Path) else dict(options)


def _opened(path: Path) -> "AnsweringRun":
    from bv_search.api.run import AnsweringRun

    return AnsweringRun.open(path)


def _path_of(thing: "Store | Run | Place") -> str:
    if not isinstance(thing, str | Path):
        return str(thing.path)
    return str(thing) if "://" in str(thing) else str(home_path(thing))


def _paths_of(runs: "Run | Place | Iterable[Run | Place]") -> tuple[str, ...]:
    from bv_search.run.folder import Run

    if isinstance(runs, str | Path | Run):
        return (_path_of(runs),)
    return tuple(map(_path_of, runs))


def _fractions(given: float | Iterable[float]) -> tuple[float, ...]:
    """Of epochs, as plain numbers."""
    try:
        if not isinstance(given, str | bytes):
            return tuple(map(float, given if isinstance(given, Iterable) else (given,)))
    except (TypeError, ValueError, OverflowError):
        pass
    raise UserError(
        "fraction is no number of epochs", expected="0.3, or several as [0.3, 1]", found=repr(given)
    )


def _place_of(encoder: "SavedStage | Place") -> str:
    return str(encoder) if isinstance(encoder, str | Path) else str(encoder.path)


def _task_of(stage: str) -> str:
    """The task that a stage was fine-tuned on, where it is one of the project's own."""
    from bv_search.encoder.stage import is_stage, read_stage
    from bv_search.errors import EncoderError
    from bv_search.tasks.registry import TASKS

    folder = home_path(stage)
    if not is_stage(folder):
        raise EncoderError("is no stage, so its task is not known", where=stage, do="say task=…")
    task = read_stage(folder).task
    known = TASKS.get(str(task["name"]))
    if known is None or known.to_json() != dict(task):
        raise UserError(
            "was fine-tuned on a task of your own",
            where=stage,
            found=task["name"],
            do="say task='my-task.yaml'",
        )
    return str(task["name"])


def _text(place: Place | None) -> str | None:
    return None if place is None else str(place)
