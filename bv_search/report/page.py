"""Facts and charts → report.html, which needs nothing beside it, and report.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from bv_search.report import charts, formatting
from bv_search.report.agreement import agreements
from bv_search.report.calibration import calibrations
from bv_search.report.commands import commands_of, space_file
from bv_search.report.conclusion import conclude
from bv_search.report.cost import costs_of, stage_of
from bv_search.report.effects import comparable, find_effects
from bv_search.report.facts import Facts
from bv_search.report.frame import environment
from bv_search.report.layers import find_layers
from bv_search.report.linked import BoardRow, head_columns
from bv_search.report.partings import find_partings
from bv_search.report.spans import span_facts
from bv_search.run.leaderboard import describe, leaderboard
from bv_search.run.trial import DONE
from bv_search.scan.ladder import MAJORITY
from bv_search.tasks.row import Row

SHOWN = 20  # heads on the leaderboard before the rest is folded away


@dataclass(frozen=True, kw_only=True)
class Page:
    html: str
    markdown: str


def render(facts: Facts, data: str | None = None, rows: Mapping[str, Row] | None = None) -> Page:
    """`data` is where the store's data is, and `rows` those of report, by their ids, where it is at hand."""
    values, templates = _values(facts, data, rows), environment()
    heads = _heads(facts, values)
    return Page(
        html=templates.get_template("report.html.j2").render(
            values, charts=_charts(facts, values), sections=_sections(values), **heads
        ),
        markdown=templates.get_template("report.md.j2").render(values),
    )


def _values(facts: Facts, data: str | None, rows: Mapping[str, Row] | None) -> dict[str, Any]:
    study, stage = facts.run.study, stage_of(facts)
    ranked = leaderboard(facts.records)
    name, space = space_file(study)
    return {
        "facts": facts,
        "study": study,
        "task": facts.task,
        "entry": facts.store.manifest.encoder,
        "manifest": facts.store.manifest,
        "splits": facts.store.manifest.splits,
        "scope": formatting.scope(facts),
        "conclusion": conclude(facts),
        "summary": formatting.summary(facts),
        "standings": facts.standings,
        "metric_names": list(facts.standings[0].evaluation.metrics),
        "rows": [(rank, record, describe(record.config)) for rank, record in enumerate(ranked, start=1)],
        "shown": SHOWN,
        "effects": find_effects(facts.records),
        "compared": _compared(facts),
        "spans": span_facts(facts),
        "agreements": agreements(facts),
        "curves": len(charts.curves_of(facts)),
        "most_curves": charts.MOST_CURVES,
        "layers": find_layers(facts),
        "partings": find_partings(facts, rows),
        "has_texts": rows is not None,
        "calibrations": calibrations(facts),
        "costs": costs_of(facts, stage),
        "seconds": facts.run.seconds(),
        "memory": facts.run.memory(),
        "commands": commands_of(facts, stage, data),
        "space_file": name,
        "space": yaml.safe_dump(space, sort_keys=False, allow_unicode=True),
    }


def _sections(values: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the page has, by the ids of its parts."""
    known = {
        "ladder": "ladder",
        "heads": "every head",
        "effects": "what mattered",
        "layers": "layers",
        "spans": "answers and none",
        "errors": "errors",
        "calibration": "calibration",
        "searched": "what was searched",
        "cost": "cost and commands",
    }
    there = {
        "effects": values["effects"],
        "layers": values["layers"],
        "spans": values["spans"],
        "errors": values["agreements"] or values["partings"],
    }
    return [(part, name) for part, name in known.items() if there.get(part, True)]


def _heads(facts: Facts, values: Mapping[str, Any]) -> dict[str, Any]:
    """All of them, linked; those that failed only on the leaderboard."""
    ladder = [rung for rung in facts.compared.ladder if rung.role != MAJORITY]
    drawn = [record for record in facts.ranked if record.rung != MAJORITY]  # far from all others
    return {
        "linked": head_columns(
            drawn,
            values["effects"],
            ladder,
            metric=facts.task.metric,
            share=facts.run.study.data_fraction,
        ).to_json(),
        "board": [
            BoardRow(id=record.id, rank=rank, record=record, head=head)
            for rank, record, head in values["rows"]
        ],
        "board_columns": (),
        "figure": charts.parameters_chart(facts),
        "caption": "Every finished head.",
    }


def _compared(facts: Facts) -> str:
    records = comparable(facts.records)
    stopped = any(record.status != DONE for record in records)
    return f"{len(records)} heads{', those that were stopped early among them' if stopped else ''}"


def _charts(facts: Facts, values: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        "standings": charts.standings_chart(facts),
        "rungs": charts.curves_chart(facts),
        "effects": charts.effects_chart(values["effects"]),
        "spans": charts.spans_chart(values["spans"]),
        "layers": charts.layers_chart(values["layers"], facts.task.metric),
        "calibration": charts.calibration_chart(values["calibrations"], facts.task.kind),
    }
