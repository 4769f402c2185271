"""Sections → study.html, which needs nothing beside it; tables and figures as files of their own."""

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, groupby
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from bv_search.encoder.stage import stage_name
from bv_search.files import write_text
from bv_search.report.chart import SLATE
from bv_search.study.config import FIGURES, PAGE, TABLES, StudiesConfig
from bv_search.study.folder import StudyFolder
from bv_search.study.section import DisputedRow, Section
from bv_search.study.table import StudyTable

LONG = 14  # rows of a table, from which on it is folded away


@dataclass(frozen=True, kw_only=True)
class Written:
    page: Path
    tables: tuple[Path, ...]
    figures: tuple[Path, ...]


def write(made: StudyFolder, sections: Sequence[Section], spent: StudyTable) -> Written:
    out = made.config.out
    tables = [table for section in sections for table in section.tables]
    files = {
        out / TABLES / f"{table.name}{suffix}": text
        for table in [*tables, spent]
        for suffix, text in ((".md", table.markdown()), (".csv", table.csv()), (".tex", table.latex()))
    }
    drawn = {
        out / FIGURES / f"{figure.name}.svg": figure.svg.replace("currentColor", SLATE)
        for section in sections
        for figure in section.figures
    }
    for path, text in {**files, **drawn, out / PAGE: _render(made, sections, spent)}.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    return Written(page=out / PAGE, tables=tuple(files), figures=tuple(drawn))


def _render(made: StudyFolder, sections: Sequence[Section], spent: StudyTable) -> str:
    environment = Environment(
        loader=PackageLoader("bv_search.study"),
        autoescape=select_autoescape(["html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    return environment.get_template("study.html.j2").render(
        task=made.task,
        encoder=made.encoder_name,
        stages=", ".join(stage_name(stage) for stage in made.stages),
        sections=sections,
        answer=next((section for section in sections if section.study == "answer"), None),
        readings={section.study: _by_title(section.readings) for section in sections},
        spent=spent,
        command=command_of(made.config),
        long=LONG,
    )


def _by_title(readings: Sequence[DisputedRow]) -> list[tuple[str, list[DisputedRow]]]:
    return [(title, list(group)) for title, group in groupby(readings, key=lambda each: each.title)]


def command_of(config: StudiesConfig) -> str:
    """The command that makes it, and that goes on with it."""
    said: dict[str, Any] = {
        "--task": config.task,
        "--encoder": config.encoder,
        "--data": config.data,
        "--stages": ",".join(map(stage_name, config.marks)),
        "--fractions": ",".join(f"{share:g}" for share in config.shares),
        "--heads": config.heads,
        "--space": config.space,
        "--trials": config.trials,
        "--seeds": config.seeds,
        "--cap": f"{config.cap:g}",
        "--keep-stores": None if config.keep_stores else "no",
        "--out": config.out,
    }
    words = [(option, str(value)) for option, value in said.items() if value not in (None, "")]
    return shlex.join(["bv-search", "study", *chain.from_iterable(words)])
