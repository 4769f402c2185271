"""One step after the other. Each finds what it has done before, and goes on from there."""

import shutil
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.cluster import ray_session
from bv_search.command import Progress
from bv_search.errors import OutputError
from bv_search.extract import extraction
from bv_search.files import check_makeable
from bv_search.finetune import finetuning
from bv_search.model.loading import is_run, model_of_run
from bv_search.model.model import Model, is_model
from bv_search.pipeline.config import MODEL, RUN, STORE, PipelineConfig
from bv_search.report import report
from bv_search.report.config import ReportConfig
from bv_search.run.folder import ENSEMBLE, JOURNAL, REPORT_HTML, Run
from bv_search.store.layout import MANIFEST
from bv_search.tune import search, summary
from bv_search.tune.study import check_names, load_space

STEPS = 5


@dataclass(frozen=True, kw_only=True)
class Done:
    run: Run
    report: Path
    model: Path  # with its encoder: a folder that can be served or carried elsewhere

    def __str__(self) -> str:
        return "\n".join(
            [
                summary.describe(self.run).rpartition("\nnext: ")[0],
                f"report: {self.report}",
                f"model, with its encoder: {self.model}",
                f"next: bv-search predict {self.model} --data FILE",
            ]
        )

    def to_json(self) -> dict[str, Any]:
        found, combined = summary.to_json(self.run), self.run.ensemble()
        return {**found, "ensemble": combined, "report": str(self.report), "model": str(self.model)}


def run(config: PipelineConfig, progress: Progress) -> Done:
    search_config = config.search(resume=is_run(config.out / RUN))
    check_names(search_config)
    load_space(search_config)  # a misspelt space is no matter for the third step
    check_makeable(config.out)
    _refuse_foreign(config.out / MODEL)
    with ExitStack() as stack:
        if not (config.out / STORE / MANIFEST).is_file():
            stack.enter_context(ray_session())  # one for all steps; where all is done, none
        _tell(progress, 1, f"finetune: {config.fraction:g} epochs of {config.encoder}")
        (stage,) = finetuning.run(config.finetuning(), progress)
        _tell(progress, 2, "extract: the hidden states of every layer")
        extraction.run(config.extraction(stage.path), progress)
        _tell(progress, 3, f"tune: heads of the space {search_config.begun_space}")
        found = search.run(search_config, progress)
    _tell(progress, 4, "report")
    page = _report(found, config.data, progress)
    _tell(progress, 5, "model")
    return Done(run=found, report=page, model=_save(found, config.out / MODEL))


def _tell(progress: Progress, step: int, text: str) -> None:
    progress.say(f"{step} of {STEPS}, {text}")


def _report(run: Run, data: str | None, progress: Progress) -> Path:
    page = run.path / REPORT_HTML
    told = max((run.path / name).stat().st_mtime_ns for name in (JOURNAL, ENSEMBLE))
    if page.is_file() and page.stat().st_mtime_ns >= told:
        return page
    return report.run(ReportConfig(runs=(str(run.path),), data=data), progress).reports[0].html


def _save(run: Run, folder: Path) -> Path:
    """What the run answers with, and its encoder. An earlier ensemble, or one of another run, gives way."""
    model = model_of_run(run)
    if is_model(folder) and Model.from_pretrained(folder).is_same(model):
        return folder
    _refuse_foreign(folder)
    shutil.rmtree(folder, ignore_errors=True)
    return model.save_pretrained(folder, bundle=True)


def _refuse_foreign(folder: Path) -> None:
    """Only a model gives way to a model."""
    if folder.exists() and not is_model(folder):
        raise OutputError(
            "is not a model of bv_search",
            where=folder,
            expected="a model, or nothing",
            do="choose another --out, or move it away",
        )
