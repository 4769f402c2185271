"""How regret falls with the rows that a search reads, one panel a table."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from bv_search.bench.contest import DEFAULT, RANDOM, Contest
from bv_search.bench.regret import REACHED, Way
from bv_search.report.chart import BLUE, GREEN, GREY, ORANGE, PINK, drawing

COLOURS = {"random": ORANGE, "hyperopt": BLUE, "optuna": GREEN, "optuna-gp": PINK}
PANEL = 2.1  # inches


def regret_chart(contests: Mapping[str, Contest]) -> str:
    """Every searcher as the default schedules it, beside random search at full length."""
    with drawing("regret and rows", 0.9 + PANEL * len(contests), [1.0] * len(contests)) as chart:
        for axes, (name, contest) in zip(chart.panels, contests.items(), strict=True):
            _draw(axes, contest, RANDOM, "random, at full length", GREY)
            for searcher, colour in COLOURS.items():
                way = replace(DEFAULT, searcher=searcher)
                if way in contest.ways:
                    _draw(axes, contest, way, f"{searcher}, {way.scheduler}", colour)
            axes.axhline(REACHED, color=GREY, linewidth=1, linestyle=":")
            axes.set_yscale("symlog", linthresh=REACHED)
            axes.yaxis.set_major_formatter("{x:g}")
            axes.set_ylabel(f"regret, {name}")
            axes.grid(axis="both")
        chart.panels[-1].set_xlabel("rows read, in heads that are trained to their ends")
        handles, labels = chart.axes.get_legend_handles_labels()
        chart.figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=9)
    return chart.alone


def _draw(axes: Any, contest: Contest, way: Way, label: str, colour: str) -> None:
    last = contest.shown[-1]
    budgets, means = contest.budgets(way)[:last], contest.means(way)[:last]
    axes.plot(budgets, [mean.value for mean in means], color=colour, linewidth=1.6, label=label)
    low, high = ([mean.value + sign * mean.half for mean in means] for sign in (-1, 1))
    axes.fill_between(budgets, low, high, color=colour, alpha=0.15, linewidth=0)
