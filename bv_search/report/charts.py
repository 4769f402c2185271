"""The charts of a report, one function each; None where there is nothing to draw."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from matplotlib.ticker import FuncFormatter, NullFormatter

from bv_search.model.standings import BEST, ENSEMBLE, SMALLEST
from bv_search.report.calibration import Calibration
from bv_search.report.chart import (
    BLUE,
    BROWN,
    COLOURS,
    GREEN,
    GREY,
    MARKERS,
    ORANGE,
    VIOLET,
    Chart,
    drawing,
    note,
)
from bv_search.report.effects import Effect
from bv_search.report.facts import Facts
from bv_search.report.layers import Layers
from bv_search.report.spans import SpanFacts
from bv_search.run.leaderboard import leaderboard
from bv_search.run.trial import TrialRecord
from bv_search.scan.ladder import ENCODER, MAJORITY, PROBE
from bv_search.store.layout import EMBEDDINGS
from bv_search.tasks.task import Kind

ROLES = {
    MAJORITY: GREY,
    ENCODER: BROWN,
    PROBE: ORANGE,
    BEST: BLUE,
    SMALLEST: VIOLET,
    ENSEMBLE: GREEN,
}
"""Warm is the ladder, cool what a search found."""
NARROW = 4.8  # inches
MOST_LEVEL = 16  # layers whose names stand level
MOST_CURVES = 200  # each takes a kilobyte or two of the page
NAMES = {EMBEDDINGS: "embed-\ndings"}


@contextmanager
def drawing_narrow(title: str, height: float, panels: Sequence[float] = (1.0,)) -> Iterator[Chart]:
    """A chart whose letters can be read where a page is as narrow as a phone."""
    with drawing(title, height, panels) as chart:
        chart.figure.set_figwidth(NARROW)
        yield chart


def standings_chart(facts: Facts) -> str:
    """Scores with their intervals, one line a model: the ladder from below, then what the search found."""
    shown, highest = facts.standings, facts.compared.highest
    with drawing_narrow("score on report with 95 % interval", 1.0 + 0.36 * len(shown)) as chart:
        axes = chart.axes
        for place, standing in enumerate(shown):
            colour, marker = (BLUE, "o") if standing.is_found else (ORANGE, "s")
            axes.plot(standing.interval, [place] * 2, color=colour, linewidth=2.5, solid_capstyle="round")
            axes.plot(standing.score, place, marker, color=colour, markersize=8)
            note(axes, f"{standing.score:.3f}", (standing.interval[1], place), right=6)
        if highest is not None:
            axes.axvline(
                highest.score, color=GREY, linewidth=1, linestyle=":", label="the best of the ladder"
            )
        axes.plot([], [], "s", color=ORANGE, label="needs no search")
        axes.plot([], [], "o", color=BLUE, label="found by the search")
        axes.set_yticks(range(len(shown)), [standing.title for standing in shown])
        axes.set_ylim(-0.5, len(shown) - 0.5)
        axes.set_xmargin(0.1)  # for the numbers beside the intervals
        axes.set_xlabel(f"{facts.task.metric} on report, with its 95 % interval")
        axes.grid(axis="x")
        chart.figure.legend(loc="outside upper right", ncols=2, fontsize=9)
    return chart.svg


def parameters_chart(facts: Facts) -> str:
    """Every head of the search, and the best linear probe: how large, and how good."""
    probe = facts.standing(PROBE)
    front = {record.id for record in facts.front or ()}
    kinds: dict[str, list[TrialRecord]] = {}
    for record in facts.ranked:
        if record.rung is None or (probe is not None and record.id == probe.trial):
            kinds.setdefault(kind_of(record), []).append(record)
        elif record.id in front:
            kinds.setdefault("rung of the ladder", []).append(record)
    with drawing_narrow("parameters and score of every head", 3.6) as chart:
        axes = chart.axes
        for (kind, records), colour, marker in zip(
            kinds.items(), _cycle(COLOURS), _cycle(MARKERS), strict=False
        ):
            axes.scatter(
                [record.parameters for record in records],
                [record.report_score for record in records],
                color=colour,
                marker=marker,
                s=34,
                alpha=0.85,
                linewidths=0,
                label=kind,
            )
        if facts.front:
            at = [(record.parameters, record.report_score) for record in facts.front]
            ring = {"facecolors": "none", "edgecolors": ORANGE, "linewidths": 1.6, "s": 90}
            axes.scatter(*zip(*at, strict=True), label="front, by select", **ring)
        if (encoder := facts.standing("encoder")) is not None:
            axes.axhline(encoder.score, color=GREY, linewidth=1.2, linestyle="--")
            axes.axhspan(*encoder.interval, color=GREY, alpha=0.12, linewidth=0)
            axes.annotate(
                "encoder",
                (1, encoder.score),
                xycoords=("axes fraction", "data"),
                xytext=(-4, 4),
                textcoords="offset points",
                ha="right",
                fontsize=9,
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(thousands))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("parameters of the head")
        axes.set_ylabel(f"{facts.task.metric} on report")
        axes.grid(axis="both")
        if len(kinds) > 1 or facts.front:
            chart.figure.legend(loc="outside upper center", ncols=min(3, len(kinds)), fontsize=9)
    return chart.svg


def curves_chart(facts: Facts) -> str | None:
    """Select scores along the way, where there was more than one look at them."""
    records = curves_of(facts)[:MOST_CURVES]
    if not records:
        return None
    first = records[0] if records[0].answers else None
    with drawing_narrow("score on select along the way", 3.0) as chart:
        axes = chart.axes
        for record in reversed(records):
            best = record is first
            axes.plot(
                [point.rows for point in record.curve],
                [point.score for point in record.curve],
                color=BLUE if best else GREY,
                linewidth=2.2 if best else 0.9,
                alpha=1.0 if best else 0.6,
                marker="o",
                markersize=4 if best else 2,
                label=f"trial {record.id}, the best of these" if best else None,
            )
        axes.xaxis.set_major_formatter(FuncFormatter(thousands))
        axes.set_xlabel("rows of the train split seen")
        axes.set_ylabel(f"{facts.task.metric} on select")
        axes.grid(axis="both")
        if first is not None:
            axes.legend(fontsize=9)
    return chart.svg


def curves_of(facts: Facts) -> list[TrialRecord]:
    """Heads that were looked at more than once, best first."""
    return leaderboard(record for record in facts.records if len(record.curve) > 1)


def effects_chart(effects: Sequence[Effect]) -> str | None:
    if not effects:
        return None
    shown = list(reversed(effects[:8]))
    with drawing_narrow("what explains the differences between heads", 0.9 + 0.34 * len(shown)) as chart:
        axes = chart.axes
        places = range(len(shown))
        axes.barh(places, [100 * effect.share for effect in shown], color=BLUE, height=0.6)
        for place, effect in enumerate(shown):
            axes.plot([100 * effect.chance] * 2, [place - 0.36, place + 0.36], color=ORANGE, linewidth=2)
        axes.plot([], [], color=ORANGE, linewidth=2, label="what chance alone would explain")
        axes.set_yticks(places, [effect.name for effect in shown])
        axes.set_xlim(0, 100)
        axes.set_xlabel("% of the variance of select scores")
        axes.grid(axis="x")
        chart.figure.legend(loc="outside upper right", fontsize=9)
    return chart.svg


def layers_chart(layers: Layers | None, metric: str) -> str | None:
    """What a linear probe makes of each layer, above what a learned pooling gives it."""
    if layers is None:
        return None
    draw = [_draw_probes] * bool(layers.probes) + [_draw_weights] * (layers.pooling is not None)
    heights = [HEIGHTS[each] for each in draw]
    with drawing_narrow("what each layer is worth", 0.5 + sum(heights), heights) as chart:
        for axes, each in zip(chart.panels, draw, strict=True):
            each(axes, layers, metric)
            axes.grid(axis="y")
        _name_layers(chart.panels[-1], layers)
        chart.figure.legend(loc="outside upper right", ncols=2, fontsize=9)
    return chart.svg


def _name_layers(axes: Any, layers: Layers) -> None:
    names = [NAMES.get(each.channel, each.channel.removeprefix("layer ")) for each in layers.each]
    axes.set_xticks(range(len(names)), names, rotation=90 if len(names) > MOST_LEVEL else 0)
    axes.set_xlabel("layer")


def _draw_probes(axes: Any, layers: Layers, metric: str) -> None:
    places, probes = zip(*layers.probes, strict=True)
    axes.set_ylabel(metric)
    for place, probe in layers.probes:
        axes.plot([place] * 2, probe.interval, color=BLUE, linewidth=2, solid_capstyle="round")
    scores = [probe.report_score for probe in probes]
    axes.plot(places, scores, "o", color=BLUE, markersize=6, label="a layer alone")
    if (together := layers.together) is not None and together.interval is not None:
        axes.axhspan(*together.interval, color=ORANGE, alpha=0.12, linewidth=0)
        axes.axhline(together.report_score, color=ORANGE, linewidth=1.5, label="all layers together")
    chosen = [probe.score for probe in probes]
    axes.plot(places, chosen, "o", color=GREY, alpha=0.6, markersize=4, label="a layer alone, on select")


def _draw_weights(axes: Any, layers: Layers, metric: str) -> None:
    weights = [layer.weight for layer in layers.each]
    axes.bar(range(len(weights)), weights, color=GREEN, width=0.7)
    axes.axhline(1 / len(weights), color=GREY, linewidth=1.5, linestyle="--", label="equal weights")
    axes.set_ylabel("weight")


HEIGHTS = {_draw_probes: 2.5, _draw_weights: 1.5}  # inches


def spans_chart(spans: Sequence[SpanFacts]) -> str | None:
    if not spans:
        return None
    with drawing_narrow("exact match with and without an answer", 2.8) as chart:
        axes = chart.axes
        width = 0.8 / len(spans)
        for number, fact in enumerate(spans):
            values = [fact.has_answer or 0.0, fact.no_answer or 0.0]
            places = [group + (number - (len(spans) - 1) / 2) * width for group in range(2)]
            axes.bar(places, values, width=width * 0.92, color=ROLES[fact.role], label=fact.title)
            for place, value in zip(places, values, strict=True):
                note(axes, f"{value:.2f}", (place, value), up=2)
        axes.set_xticks([0, 1], ["questions with an answer", "questions without"])
        axes.set_ylim(0, 1.08)
        axes.set_ylabel("exact match on report")
        axes.grid(axis="y")
        chart.figure.legend(loc="outside upper center", ncols=3, fontsize=9)
    return chart.svg


def calibration_chart(found: Sequence[Calibration], kind: Kind) -> str:
    """What models say beside what is so: on the diagonal they can be taken at their word."""
    title = (
        "predicted and true values" if kind is Kind.REGRESSION else "confidence, and how often it is right"
    )
    with drawing_narrow(title, 4.0) as chart:
        axes = chart.axes
        said = [part.said for each in found for part in each.bins]
        axes.plot([min(said), max(said)], [min(said), max(said)], color=GREY, linewidth=1.2, linestyle="--")
        for number, each in enumerate(found):
            at = [part.said for part in each.bins]
            colour = ROLES[each.role]
            for part in each.bins:
                axes.plot([part.said] * 2, part.interval, color=colour, linewidth=1.2, alpha=0.45)
            marker = MARKERS[number]
            axes.plot(
                at,
                [part.found for part in each.bins],
                marker,
                color=colour,
                label=each.title,
                linestyle="-",
                linewidth=1,
            )
        names = (
            ("predicted value", "true value, mean")
            if kind is Kind.REGRESSION
            else ("confidence", "share that is right")
        )
        axes.set_xlabel(names[0])
        axes.set_ylabel(names[1])
        axes.grid(axis="both")
        chart.figure.legend(loc="outside upper center", ncols=3, fontsize=9)
    return chart.svg


def kind_of(record: TrialRecord) -> str:
    """What a legend calls it: the ladder's linear heads are told from the search's own."""
    if record.rung == PROBE:
        return "best linear probe"
    head = record.config.get("head")
    return str(head.get("kind", "head")) if isinstance(head, dict) else "head"


def _cycle(values: Sequence[str]) -> Iterator[str]:
    while True:
        yield from values


def thousands(value: float, _: object) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if value >= 1e3 else f"{value:g}"
