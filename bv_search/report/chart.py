"""A chart as SVG. In a page, lines and letters take its colour: readable in light and in dark."""

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

INK = "#010203"  # stands for the page's own colour, and is replaced by it
SLATE = "#7d8590"  # of lines and letters outside of a page: readable on white and on black
BLUE, ORANGE, GREEN, PINK, GREY = "#3d8bd4", "#dd7a2a", "#3a9d5d", "#c35f9c", "#8a8f98"
BROWN, VIOLET = "#9c6b3c", "#8a70d6"
COLOURS = (BLUE, ORANGE, GREEN, PINK, GREY)
MARKERS = ("o", "s", "^", "D", "v", "P")  # one more than colours: thirty kinds look different
WIDTH = 7.2  # inches
STYLE = {
    "svg.fonttype": "none",
    "text.parse_math": False,  # a name with two $ in it is no formula
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
    "axes.axisbelow": True,
    "grid.color": GREY,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
}


class Chart:
    """A figure that becomes SVG text when its drawing is done: in a page, and as a file of its own."""

    def __init__(self, title: str, height: float, panels: Sequence[float], *, share: bool) -> None:
        self.title = title
        self.svg = self.alone = ""
        self.figure = Figure(figsize=(WIDTH, height), layout="constrained")
        grid = self.figure.subplots(len(panels), sharex=share, squeeze=False, height_ratios=panels)
        self.panels: list[Any] = list(grid[:, 0])

    @property
    def axes(self) -> Any:
        return self.panels[0]

    def finish(self) -> None:
        file = io.StringIO()
        mpl.rcParams["svg.hashsalt"] = self.title  # ids that repeat, and differ between charts of one page
        self.figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        self.svg = _inline(file.getvalue(), self.title)
        self.alone = self.svg.replace("currentColor", SLATE)


@contextmanager
def drawing(
    title: str, height: float, panels: Sequence[float] = (1.0,), *, share: bool = True
) -> Iterator[Chart]:
    """Panels stand above each other, and their heights relate as these numbers do; a shared axis is level."""
    with mpl.rc_context(STYLE):
        chart = Chart(title, height, panels, share=share)
        yield chart
        chart.finish()


def _inline(svg: str, title: str) -> str:
    body = svg[svg.index("<svg") :].replace(INK, "currentColor")
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.DOTALL)
    body = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", body, count=1)
    body = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", body, count=1)
    body = body.replace("<svg", f'<svg role="img" aria-label="{title}"', 1)
    return "\n".join(line.rstrip() for line in body.splitlines())


def note(axes: Any, text: str, at: tuple[float, float], *, right: float = 0.0, up: float = 0.0) -> None:
    """A small label, so many points beside its place or above it."""
    beside = {"ha": "left", "va": "center"} if right else {"ha": "center"}
    axes.annotate(text, at, xytext=(right, up), textcoords="offset points", fontsize=8, **beside)
