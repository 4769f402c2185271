"""The figures of studies, as SVG that a page colours light or dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import numpy as np
from matplotlib.ticker import FuncFormatter, NullFormatter

from bv_search.encoder.stage import epochs, stage_name
from bv_search.report.chart import BLUE, BROWN, COLOURS, GREEN, GREY, MARKERS, ORANGE, Chart, drawing
from bv_search.report.charts import thousands
from bv_search.study.folder import StudyFolder
from bv_search.study.section import StudyFigure

if TYPE_CHECKING:  # studies import their figures
    from bv_search.study.answer import HowLittle, Offer
    from bv_search.study.ensembles import Pair
    from bv_search.study.errors import StageErrors
    from bv_search.study.layers import StageLayers

DARK = "#ffffff"  # letters on dark cells
PARAMETERS = 2  # their place among the costs of an offer
EVEN = 0.8  # of the distance between two groups of bars


def curve_figure(made: StudyFolder) -> StudyFigure | None:
    scored = {fraction: stage for fraction, stage in made.stages.items() if stage.metrics}
    if not scored:
        return None
    with drawing(f"{made.task.metric} of the encoder by epochs of fine-tuning", 3.0) as chart:
        axes = chart.axes
        for fraction, stage in scored.items():
            axes.plot([fraction] * 2, stage.interval, color=BROWN, linewidth=2.5, solid_capstyle="round")
        scores = [stage.metrics["report"]["score"] for stage in scored.values()]
        axes.plot(list(scored), scores, "o-", color=BROWN, linewidth=1.2, markersize=7)
        axes.set_xlabel("epochs of fine-tuning")
        axes.set_ylabel(f"{made.task.metric} on report")
        axes.grid(axis="both")
    caption = "The encoder's own score on report, with its 95 % interval."
    return StudyFigure(name="curve", svg=chart.svg, caption=caption)


def heads_figure(made: StudyFolder) -> StudyFigure:
    """A line for each head, a colour for each stage; dotted what the encoder scores there."""
    titles = list(dict.fromkeys(entry.title for heads in made.heads.values() for entry in heads))
    with drawing("score of every head at every stage", 1.0 + 0.34 * len(titles)) as chart:
        axes = chart.axes
        for (number, (stage, heads)), colour in zip(enumerate(made.heads.items()), _colours(), strict=False):
            own = made.stages[stage].metrics.get("report", {}).get("score")
            if own is not None:
                axes.axvline(own, color=colour, linewidth=1.4, linestyle=":")
            shift = 0.5 * (number - (len(made.heads) - 1) / 2) / len(made.heads)
            for entry in heads:
                place = titles.index(entry.title) + shift
                if entry.interval is not None:
                    axes.plot(entry.interval, [place] * 2, color=colour, linewidth=1.8, alpha=0.5)
                axes.plot(entry.report, place, MARKERS[number % len(MARKERS)], color=colour, markersize=5)
            label = epochs(stage)
            axes.plot([], [], MARKERS[number % len(MARKERS)], color=colour, markersize=5, label=label)
        axes.set_yticks(range(len(titles)), titles)
        axes.set_ylim(len(titles) - 0.5, -0.5)
        axes.set_xlabel(f"{made.task.metric} on report, with its 95 % interval")
        axes.grid(axis="x")
        chart.figure.legend(loc="outside upper center", ncols=5, fontsize=9)
    caption = "Means of the seeds. A dotted line is the encoder's own score at the stage of its colour."
    return StudyFigure(name="heads", svg=chart.svg, caption=caption)


def data_figure(made: StudyFolder) -> StudyFigure:
    with drawing("score by share of the data", 3.6) as chart:
        axes = chart.axes
        for (number, (stage, entries)), colour in zip(
            enumerate(made.amounts.items()), _colours(), strict=False
        ):
            shares = [100 * entry.share for entry in entries]
            scores = [entry.report for entry in entries]
            spreads = [entry.spread or 0.0 for entry in entries]
            low, high = np.subtract(scores, spreads), np.add(scores, spreads)
            axes.fill_between(shares, low, high, color=colour, alpha=0.15, linewidth=0)
            mark = MARKERS[number % len(MARKERS)]
            axes.plot(
                shares, scores, f"{mark}-", color=colour, linewidth=1.3, markersize=5, label=f"{stage:g}"
            )
            own = made.stages[stage].metrics.get("report", {}).get("score")
            if own is not None:
                axes.axhline(own, color=colour, linewidth=1.2, linestyle=":")
        axes.set_xlabel("% of the training rows that the head learned from")
        axes.set_ylabel(f"{made.task.metric} on report")
        axes.grid(axis="both")
        chart.figure.legend(loc="outside upper center", ncols=6, fontsize=9, title="epochs of fine-tuning")
    caption = (
        "The best head of each stage; bands: one standard deviation of seeds, dotted: the encoder there."
    )
    return StudyFigure(name="data", svg=chart.svg, caption=caption)


def transfer_figure(made: StudyFolder, matrix: Mapping[tuple[float, float], float | None]) -> StudyFigure:
    stages = list(made.heads)
    rows = [[matrix[learned, scored] for scored in stages] for learned in stages]
    values = np.array(rows, dtype=float)  # where a head does not fit, none
    with drawing("heads on the states of other stages", 1.2 + 0.5 * len(stages)) as chart:
        _heat(chart, chart.axes, values, "{:.3f}")
        names = [stage_name(stage) for stage in stages]
        _name(chart.axes, names, names)
        chart.axes.set_xlabel("hidden states after so many epochs")
        chart.axes.set_ylabel("learned after")
    caption = "The best head of each stage, on the hidden states of every stage."
    return StudyFigure(name="transfer", svg=chart.svg, caption=caption)


def ensembles_figure(made: StudyFolder, pairs: Sequence[Pair]) -> StudyFigure:
    """Of every head at its own stage: alone, the encoder, and both together."""
    own = [pair for pair in pairs if pair.head is not None]
    with drawing("heads together with the encoder", 1.0 + 0.3 * len(own)) as chart:
        axes = chart.axes
        shown = (
            ("encoder", "s", BROWN, [pair.encoder for pair in own]),
            ("head", "o", BLUE, [pair.head for pair in own]),
            ("maximum", "^", ORANGE, [pair.maximum for pair in own]),
            ("mean", "D", GREEN, [pair.mean for pair in own]),
            ("weighted", "v", GREY, [pair.weighted for pair in own]),
        )
        for name, mark, colour, scores in shown:
            if any(score is not None for score in scores):
                axes.plot(scores, range(len(own)), mark, color=colour, markersize=5, label=name)
        axes.set_yticks(
            range(len(own)), [f"{pair.entry.title}, {stage_name(pair.stage)}" for pair in own], fontsize=8
        )
        axes.set_ylim(len(own) - 0.5, -0.5)
        axes.set_xlabel(f"{made.task.metric} on report")
        axes.grid(axis="both")
        chart.figure.legend(loc="outside upper center", ncols=5, fontsize=9)
    caption = "Each head with the encoder of its own stage; the number behind a head is its epochs."
    return StudyFigure(name="ensembles", svg=chart.svg, caption=caption)


def layers_figure(made: StudyFolder, found: Sequence[StageLayers]) -> Iterator[StudyFigure]:
    """The atlas: stages × layers."""
    parts = {
        "probes": ("a linear probe of each layer", [each.probes for each in found]),
        "weights": ("a learned pooling's weight of each layer", [each.weights for each in found]),
    }
    for name, (title, rows) in parts.items():
        if all(value is None for row in rows for value in row):
            continue
        with drawing(title, 1.2 + 0.42 * len(found)) as chart:
            _heat(chart, chart.axes, np.array(rows, dtype=float), "{:.2f}")
            channels = [channel.removeprefix("layer ") for channel in found[0].channels]
            _name(chart.axes, channels, [stage_name(each.stage) for each in found])
            chart.axes.set_xlabel("layer")
            chart.axes.set_ylabel("epochs")
        yield StudyFigure(name=f"layers-{name}", svg=chart.svg, caption=f"Stages and layers: {title}.")


def errors_figure(made: StudyFolder, found: Sequence[StageErrors]) -> StudyFigure:
    """Of each stage: rows that only one gets right."""
    with drawing("rows that only one of them gets right", 2.8) as chart:
        axes = chart.axes
        places = np.arange(len(found))
        ours = [int((each.right["head"] & ~each.right["encoder"]).sum()) for each in found]
        theirs = [int((each.right["encoder"] & ~each.right["head"]).sum()) for each in found]
        width = EVEN / 2
        axes.bar(places - width / 2, ours, width * 0.95, color=BLUE, label="the head alone")
        axes.bar(places + width / 2, theirs, width * 0.95, color=BROWN, label="the encoder alone")
        axes.set_xticks(places, [stage_name(each.stage) for each in found])
        axes.set_xlabel("epochs of fine-tuning")
        axes.set_ylabel("rows of report")
        axes.grid(axis="y")
        chart.figure.legend(loc="outside upper center", ncols=2, fontsize=9)
    caption = (
        "Rows of report that the best head of a stage gets right and the encoder wrong, and the other way."
    )
    return StudyFigure(name="errors", svg=chart.svg, caption=caption)


def answer_figure(made: StudyFolder, offers: Sequence[Offer], verdict: HowLittle) -> StudyFigure:
    """Score on select against each of the three costs; a ring is the least that is as good as the best."""
    names = ("seconds of fine-tuning", "windows that the head learned from", "parameters of the head")
    with drawing("score against what it costs", 7.2, (1, 1, 1), share=False) as chart:
        for place, (axes, name) in enumerate(zip(chart.panels, names, strict=True)):
            _draw_costs(axes, offers, place, GREY, "o", 16)
            _draw_costs(axes, verdict.front, place, BLUE, "o", 30)
            _draw_costs(axes, [verdict.best], place, GREEN, "D", 60)
            least = _at_cost(verdict.least, place)
            axes.scatter(*least, s=160, facecolors="none", edgecolors=ORANGE, linewidths=2.2)
            axes.axhline(verdict.best.select - verdict.best.error, color=ORANGE, linewidth=1, linestyle="--")
            axes.set_xlabel(name)
            axes.set_ylabel(f"{made.task.metric}, select", fontsize=9)
            axes.grid(axis="both")
    caption = (
        "All that was tried (grey), the front (blue), the best (green) and the least that is as good (ring); "
        "the dashed line is one standard error below the best."
    )
    return StudyFigure(name="answer", svg=chart.svg, caption=caption)


def _at_cost(offer: Offer, place: int) -> tuple[float, float]:
    """Parameters stand on a logarithmic axis, where none is 1."""
    cost = float(offer.costs[place])
    return max(cost, 1.0) if place == PARAMETERS else cost, offer.select


def _draw_costs(axes: Any, offers: Sequence[Offer], place: int, colour: str, mark: str, area: float) -> None:
    xs, ys = zip(*(_at_cost(offer, place) for offer in offers), strict=True)
    axes.scatter(xs, ys, color=colour, marker=mark, s=area, alpha=0.8, linewidths=0)
    if place == PARAMETERS:
        axes.set_xscale("log")
    axes.xaxis.set_major_formatter(FuncFormatter(thousands))
    axes.xaxis.set_minor_formatter(NullFormatter())


def _heat(chart: Chart, axes: Any, values: np.ndarray, form: str) -> None:
    """Cells with their numbers; vector graphics, so that letters stay letters."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    scale = mpl.colors.Normalize(low, high if high > low else low + 1)
    axes.pcolormesh(np.ma.masked_invalid(values), cmap="Blues", norm=scale, edgecolors=GREY, linewidth=0.3)
    for row, line in enumerate(values):
        for column, value in enumerate(line):
            if np.isnan(value):
                continue
            colour = DARK if scale(value) > 0.55 else "#10151b"
            at = (column + 0.5, row + 0.5)
            axes.annotate(form.format(value), at, ha="center", va="center", fontsize=8, color=colour)
    axes.invert_yaxis()


def _name(axes: Any, columns: Sequence[str], rows: Sequence[str]) -> None:
    axes.set_xticks(np.arange(len(columns)) + 0.5, columns, rotation=90 if len(columns) > 16 else 0)
    axes.set_yticks(np.arange(len(rows)) + 0.5, rows)


def _colours() -> Iterator[str]:
    while True:
        yield from COLOURS
