"""From the config to the page: steps, then studies of what they left, then tables, figures and study.html."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.command import Progress
from bv_search.report.frame import in_frame
from bv_search.study.answer import study_answer
from bv_search.study.config import (
    ANSWER,
    CURVE,
    DATA,
    ENSEMBLES,
    ERRORS,
    HEADS,
    LAYERS,
    SEARCHES,
    STUDIES,
    TRANSFER,
    StudiesConfig,
)
from bv_search.study.curve import study_curve
from bv_search.study.data import study_data
from bv_search.study.ensembles import study_ensembles
from bv_search.study.errors import study_errors
from bv_search.study.folder import StudyFolder
from bv_search.study.heads import study_heads
from bv_search.study.layers import study_layers
from bv_search.study.page import Written, write
from bv_search.study.quote import Quote, StepQuote, read_quote, take_quote, write_quote
from bv_search.study.searches import study_searches
from bv_search.study.section import Section
from bv_search.study.spent import spent_table
from bv_search.study.steps import plan
from bv_search.study.transfer import study_transfer
from bv_search.study.work import check_inputs, check_settings, do_steps, holding, read_seconds

BY_NAME: dict[str, Callable[[StudyFolder], Section]] = {
    CURVE: study_curve,
    HEADS: study_heads,
    SEARCHES: study_searches,
    DATA: study_data,
    TRANSFER: study_transfer,
    ENSEMBLES: study_ensembles,
    LAYERS: study_layers,
    ERRORS: study_errors,
    ANSWER: study_answer,
}


@dataclass(frozen=True, kw_only=True)
class StudiesDone:
    out: Path
    sections: tuple[Section, ...]
    written: Written

    def __str__(self) -> str:
        lines = [f"{section.title}: {line}" for section in self.sections for line in section.sentences]
        files = f"{len(self.written.tables)} files of tables, {len(self.written.figures)} figures"
        return "\n".join([*lines, f"page: {self.written.page}; beside it {files}"])

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        return in_frame(self.written.page.read_text())

    def to_json(self) -> dict[str, Any]:
        return {
            "out": str(self.out),
            "page": str(self.written.page),
            "studies": {section.study: list(section.sentences) for section in self.sections},
            "tables": [str(path) for path in self.written.tables],
            "figures": [str(path) for path in self.written.figures],
        }


def dry_run(config: StudiesConfig, progress: Progress) -> Quote:
    """What is left to do, and what it will take; nothing is written."""
    check_inputs(config)
    check_settings(config)
    return take_quote(config, progress)


def run(config: StudiesConfig, progress: Progress) -> StudiesDone:
    """What can be wrong with the request is found before anything is written."""
    check_inputs(config)
    check_settings(config)
    quotes = _quotes(config, progress)
    with holding(config):
        write_quote(config.out, quotes)
        do_steps(config, progress)
        made = StudyFolder(config=config)
        sections = []
        for study in (name for name in STUDIES if name in config.only):
            progress.update(f"study: {study}")
            sections.append(BY_NAME[study](made))
        written = write(made, sections, spent_table(config, quotes, read_seconds(config.out)))
    return StudiesDone(out=config.out, sections=tuple(sections), written=written)


def _quotes(config: StudiesConfig, progress: Progress) -> dict[str, StepQuote]:
    """As they were when each step was first asked for."""
    known = read_quote(config.out)
    if {step.name for step in plan(config)} <= known.keys():
        return known
    return {**take_quote(config, progress).by_name, **known}
