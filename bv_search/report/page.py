"""Facts and charts → report.html, which needs nothing beside it, and report.md."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import yaml

from bv_search.report import charts, formatting
from bv_search.report.agreement import agreements
from bv_search.report.effects import comparable, find_effects
from bv_search.report.facts import Facts
from bv_search.report.frame import environment
from bv_search.report.layers import find_layers
from bv_search.report.spans import span_facts
from bv_search.run.leaderboard import describe, leaderboard
from bv_search.run.trial import DONE

SHOWN = 20  # heads on the leaderboard before the rest is folded away


@dataclass(frozen=True, kw_only=True)
class Page:
    html: str
    markdown: str


def render(facts: Facts) -> Page:
    values, templates = _values(facts), environment()
    return Page(
        html=templates.get_template("report.html.j2").render(values, charts=_charts(facts, values)),
        markdown=templates.get_template("report.md.j2").render(values),
    )


def _values(facts: Facts) -> dict[str, Any]:
    study = facts.run.study
    ranked = leaderboard(facts.records)
    return {
        "facts": facts,
        "study": study,
        "task": facts.task,
        "entry": facts.store.manifest.encoder,
        "manifest": facts.store.manifest,
        "splits": facts.store.manifest.splits,
        "scope": formatting.scope(facts),
        "summary": formatting.summary(facts),
        "standings": facts.standings,
        "metric_names": list(facts.standings[0].evaluation.metrics),
        "rows": [(rank, record, describe(record.config)) for rank, record in enumerate(ranked, start=1)],
        "shown": SHOWN,
        "effects": find_effects(facts.records),
        "compared": _compared(facts),
        "spans": span_facts(facts),
        "agreements": agreements(facts),
        "layers": find_layers(facts),
        "seconds": facts.run.seconds(),
        "space": yaml.safe_dump(dict(study.space), sort_keys=False, allow_unicode=True),
    }


def _compared(facts: Facts) -> str:
    records = comparable(facts.records)
    stopped = any(record.status != DONE for record in records)
    return f"{len(records)} heads{', those that were stopped early among them' if stopped else ''}"


def _charts(facts: Facts, values: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        "standings": charts.standings_chart(facts),
        "parameters": charts.parameters_chart(facts),
        "rungs": charts.curves_chart(facts),
        "effects": charts.effects_chart(values["effects"]),
        "spans": charts.spans_chart(values["spans"]),
        "layers": charts.layers_chart(values["layers"], facts.task.metric),
    }
