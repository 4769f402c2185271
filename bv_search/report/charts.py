"""Charts as inline SVG. Lines and letters take the page's colour: readable in light and in dark."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from bv_search.report.effects import Effect
from bv_search.report.facts import Facts
from bv_search.report.layers import LayerWeights
from bv_search.report.spans import SpanFacts
from bv_search.run.trial import TrialRecord

INK = "#010203"  # stands for the page's own colour, and is replaced by it
BLUE, ORANGE, GREEN, PINK, GREY = "#3d8bd4", "#dd7a2a", "#3a9d5d", "#c35f9c", "#8a8f98"
COLOURS = (BLUE, ORANGE, GREEN, PINK, GREY)
MARKERS = ("o", "s", "^", "D", "v")
WIDTH = 7.2  # inches
STYLE = {
    "svg.fonttype": "none",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "grid.color": GREY,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}


class Chart:
    """A figure that becomes SVG text when its drawing is done."""

    def __init__(self, title: str, height: float) -> None:
        self.title = title
        self.svg = ""
        self.figure = Figure(figsize=(WIDTH, height), layout="constrained")
        self.axes: Any = self.figure.subplots()

    def finish(self) -> None:
        file = io.StringIO()
        mpl.rcParams["svg.hashsalt"] = self.title  # ids that repeat, and differ between charts of one page
        self.figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        self.svg = _inline(file.getvalue(), self.title)


@contextmanager
def drawing(title: str, height: float) -> Iterator[Chart]:
    with mpl.rc_context(STYLE):
        chart = Chart(title, height)
        yield chart
        chart.finish()


def _inline(svg: str, title: str) -> str:
    body = svg[svg.index("<svg") :].replace(INK, "currentColor")
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = body.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
    return "\n".join(line.rstrip() for line in body.splitlines())


def standings_chart(facts: Facts) -> str:
    """Scores with their intervals, one line a model."""
    shown = list(reversed(facts.standings))
    with drawing("score on report with 95 % interval", 0.6 + 0.42 * len(shown)) as chart:
        axes = chart.axes
        for place, standing in enumerate(shown):
            low, high = standing.interval
            colour = GREY if standing.role == "encoder" else BLUE
            axes.plot([low, high], [place, place], color=colour, linewidth=2.5, solid_capstyle="round")
            axes.plot(standing.score, place, "o", color=colour, markersize=8)
            axes.annotate(
                f"{standing.score:.3f}",
                (standing.score, place),
                xytext=(0, 8),
                textcoords="offset points",
                ha="center",
                fontsize=9,
            )
        if shown[-1].role == "encoder":
            axes.axvline(shown[-1].score, color=GREY, linewidth=1, linestyle=":")
        axes.set_yticks(range(len(shown)), [standing.title for standing in shown])
        axes.set_ylim(-0.5, len(shown) - 0.3)
        axes.set_xlabel(f"{facts.task.metric} on report, with its 95 % interval")
        axes.grid(axis="x")
    return chart.svg


def parameters_chart(facts: Facts) -> str:
    """Every head: how large, and how good."""
    kinds: dict[str, list[TrialRecord]] = {}
    for record in facts.ranked:
        kinds.setdefault(kind_of(record), []).append(record)
    with drawing("parameters and score of every head", 3.6) as chart:
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
        if (encoder := facts.standing("encoder")) is not None:
            axes.axhline(encoder.score, color=GREY, linewidth=1.2, linestyle="--")
            axes.axhspan(*encoder.interval, color=GREY, alpha=0.12, linewidth=0)
            axes.annotate(
                "encoder",
                (0, encoder.score),
                xycoords=("axes fraction", "data"),
                xytext=(4, 4),
                textcoords="offset points",
                ha="left",
                fontsize=9,
            )
        axes.set_xscale("log")
        axes.xaxis.set_major_formatter(FuncFormatter(_thousands))
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.set_xlabel("parameters of the head")
        axes.set_ylabel(f"{facts.task.metric} on report")
        axes.grid(axis="both")
        if len(kinds) > 1:
            chart.figure.legend(loc="outside upper center", ncols=min(4, len(kinds)), fontsize=9)
    return chart.svg


def curves_chart(facts: Facts) -> str | None:
    """Select scores along the way, where there was more than one look at them."""
    records = [record for record in facts.records if len(record.curve) > 1]
    if not records:
        return None
    first = facts.ranked[0].id
    with drawing("score on select along the way", 3.0) as chart:
        axes = chart.axes
        for record in sorted(records, key=lambda record: record.id == first):
            best = record.id == first
            axes.plot(
                [point.rows for point in record.curve],
                [point.score for point in record.curve],
                color=BLUE if best else GREY,
                linewidth=2.2 if best else 0.9,
                alpha=1.0 if best else 0.6,
                marker="o",
                markersize=4 if best else 2,
                label=f"trial {record.id}, the best" if best else None,
            )
        axes.set_xlabel("rows of the train split seen")
        axes.set_ylabel(f"{facts.task.metric} on select")
        axes.grid(axis="both")
        if any(record.id == first for record in records):
            axes.legend(fontsize=9)
    return chart.svg


def effects_chart(effects: Sequence[Effect]) -> str | None:
    if not effects:
        return None
    shown = list(reversed(effects[:8]))
    with drawing("what explains the differences between heads", 0.9 + 0.34 * len(shown)) as chart:
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


def layers_chart(weights: LayerWeights | None) -> str | None:
    if weights is None:
        return None
    with drawing("weights of the layers in a learned pooling", 2.6) as chart:
        axes = chart.axes
        places = range(len(weights.weights))
        axes.bar(places, weights.weights, color=BLUE, width=0.7)
        axes.axhline(
            1 / len(weights.weights), color=ORANGE, linewidth=1.5, linestyle="--", label="equal weights"
        )
        axes.set_xticks(places, [channel.removeprefix("layer ") for channel in weights.channels])
        if len(weights.channels) > 12:
            axes.tick_params(axis="x", labelrotation=90)
        axes.set_xlabel("layer")
        axes.set_ylabel("weight")
        axes.grid(axis="y")
        chart.figure.legend(loc="outside upper right", fontsize=9)
    return chart.svg


def spans_chart(spans: Sequence[SpanFacts]) -> str | None:
    if not spans:
        return None
    with drawing("exact match with and without an answer", 2.8) as chart:
        axes = chart.axes
        width = 0.8 / len(spans)
        for number, (fact, colour) in enumerate(
            zip(spans, _cycle((GREY, BLUE, GREEN, ORANGE)), strict=False)
        ):
            values = [fact.has_answer or 0.0, fact.no_answer or 0.0]
            places = [group + (number - (len(spans) - 1) / 2) * width for group in range(2)]
            axes.bar(places, values, width=width * 0.92, color=colour, label=fact.role)
            for place, value in zip(places, values, strict=True):
                axes.annotate(
                    f"{value:.2f}",
                    (place, value),
                    xytext=(0, 2),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8,
                )
        axes.set_xticks([0, 1], ["questions with an answer", "questions without"])
        axes.set_ylim(0, 1.08)
        axes.set_ylabel("exact match on report")
        axes.grid(axis="y")
        chart.figure.legend(loc="outside upper center", ncols=len(spans), fontsize=9)
    return chart.svg


def kind_of(record: TrialRecord) -> str:
    head = record.config.get("head")
    return str(head.get("kind", "head")) if isinstance(head, dict) else "head"


def _cycle(values: Sequence[str]) -> Iterator[str]:
    while True:
        yield from values


def _thousands(value: float, _: object) -> str:
    if value >= 1e6:
        return f"{value / 1e6:g} M"
    return f"{value / 1e3:g} k" if value >= 1e3 else f"{value:g}"
