"""The report of a run: report.html and report.md in its folder, each whole or as it was."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.command import Progress
from bv_search.errors import UserError
from bv_search.files import write_text
from bv_search.model.standings import Standing, Standings
from bv_search.report import formatting
from bv_search.report.comparison import write_together
from bv_search.report.conclusion import conclude
from bv_search.report.config import ReportConfig
from bv_search.report.facts import Facts, gather
from bv_search.report.frame import in_frame
from bv_search.report.page import render
from bv_search.run.folder import REPORT_HTML, REPORT_MD, Run
from bv_search.run.mlflow import open_mirror
from bv_search.run.roles import check_data
from bv_search.tasks.row import Dataset, Role


@dataclass(frozen=True, kw_only=True)
class Report:
    facts: Facts
    html: Path
    markdown: Path

    def to_json(self) -> dict[str, Any]:
        return {
            "run": str(self.facts.run.path),
            "html": str(self.html),
            "markdown": str(self.markdown),
            "conclusion": conclude(self.facts),
            "standings": [_standing_json(standing, self.facts.compared) for standing in self.facts.standings],
        }


@dataclass(frozen=True, kw_only=True)
class ReportResult:
    reports: tuple[Report, ...]
    together: tuple[Path, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """One run's facts at the top, as the other commands have them; of several, all of them."""
        each = [report.to_json() for report in self.reports]
        said = each[0] if len(each) == 1 else {"run": each[0]["run"], "reports": each}
        return {**said, "together": [str(path) for path in self.together]} if self.together else said

    def _repr_html_(self) -> str:
        """In a notebook each page stands in a frame, so that its styles stay its own."""
        return "\n".join(in_frame(report.html.read_text()) for report in self.reports)

    def text(self) -> str:
        texts = [
            "\n".join(
                [
                    conclude(report.facts),
                    *formatting.summary(report.facts),
                    f"written: {report.html}, {report.markdown.name}",
                ]
            )
            for report in self.reports
        ]
        if self.together:
            texts.append(f"all runs together: {', '.join(map(str, self.together))}")
        return "\n\n".join(texts)


def run(config: ReportConfig, progress: Progress) -> ReportResult:
    """All runs are looked at before anything is written."""
    gathered = []
    for one in Run.open_each(config.runs):
        progress.say(f"report: reading {one.path}")
        facts = gather(one)
        dataset = check_data(facts.store, config.data)
        gathered.append((facts, dataset))
    reports = tuple(_write(facts, dataset, config, progress) for facts, dataset in gathered)
    together = _compare([facts for facts, _ in gathered], config)
    return ReportResult(reports=reports, together=together)


def _compare(all_facts: Sequence[Facts], config: ReportConfig) -> tuple[Path, ...]:
    """Several runs always; where nothing else is said, beside the first of them."""
    if config.together is None and len(all_facts) == 1:
        return ()
    beside = all_facts[0].run.path.parent
    return write_together(all_facts, beside if config.together is None else Path(config.together))


def _write(facts: Facts, dataset: Dataset | None, config: ReportConfig, progress: Progress) -> Report:
    rows = None if dataset is None else {row.id: row for row in dataset.rows(Role.REPORT)}
    page = render(facts, config.data, rows)
    html, markdown = facts.run.path / REPORT_HTML, facts.run.path / REPORT_MD
    write_text(html, page.html)
    write_text(markdown, page.markdown)
    if config.mlflow:
        _mirror(facts.run, progress)
    return Report(facts=facts, html=html, markdown=markdown)


def _mirror(run: Run, progress: Progress) -> None:
    """Not while a search is going on, which writes its own mirror."""
    try:
        with run.writing():
            mirror = open_mirror(run, progress.say)
            if mirror is not None and not mirror.close():
                progress.say(f"not in MLflow: {mirror.trouble}")
    except UserError as busy:
        progress.say(f"not in MLflow: {busy}")


def _standing_json(standing: Standing, standings: Standings) -> dict[str, Any]:
    below, delta = standing.below, standing.delta
    gain = None if standing.is_rung else standings.gain(standing.evaluation)
    return {
        "model": standing.role,
        "name": standing.name,
        "trial": standing.trial,
        "score": standing.score,
        "interval": list(standing.interval),
        "select_score": standing.select_score,
        "metrics": standing.evaluation.metrics,
        "parameters": standing.parameters,
        "percent": standing.percent,
        "over_below": None if below is None else {"model": below.over.role, **below.delta.to_json()},
        "over_encoder": None if delta is None else delta.to_json(),
        "over_ladder": None if gain is None else {"rung": gain.over.role, **gain.delta.to_json()},
    }
