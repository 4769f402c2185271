"""Several runs side by side: a table and a chart, for what can be said of many tasks at once."""

from collections.abc import Sequence
from pathlib import Path

from bv_search.files import write_text
from bv_search.model.standings import BEST, ENSEMBLE, Lead, Standing
from bv_search.report.chart import drawing
from bv_search.report.charts import ROLES
from bv_search.report.facts import Facts
from bv_search.report.formatting import NOTHING, count
from bv_search.scan.ladder import ENCODER, MAJORITY, PROBE

TABLE, CHART = "results.md", "results.svg"
SHOWN = (MAJORITY, ENCODER, PROBE, BEST, ENSEMBLE)
COLUMNS = (
    "run", "task, epochs", "majority or mean", "encoder", "best linear probe, parameters",
    "best head, parameters", "ensemble", "head and encoder", "head and ladder", "seconds of `tune`",
)  # fmt: skip
APART = 0.15  # of the distance between two runs, from a model to the next


def write_together(all_facts: Sequence[Facts], folder: Path) -> tuple[Path, Path]:
    table, chart = folder / TABLE, folder / CHART
    write_text(table, table_of(all_facts))
    write_text(chart, chart_of(all_facts))
    return table, chart


def table_of(all_facts: Sequence[Facts]) -> str:
    """As Markdown. Scores are of report rows, with their intervals."""
    numbers = "|".join("---" if column in COLUMNS[:2] else "--:" for column in COLUMNS)
    rows = [COLUMNS, *map(_cells, all_facts)]
    head, *body = [f"| {' | '.join(cells)} |" for cells in rows]
    return "\n".join([head, f"|{numbers}|", *body, ""])


def _cells(facts: Facts) -> tuple[str, ...]:
    best = facts.standing(BEST)
    lead = None if best is None else facts.compared.gain(best.evaluation)
    seconds = facts.run.seconds().get("total")
    return (
        facts.run.study.name,
        stage_of(facts),
        _score(facts.standing(MAJORITY)),
        _with_interval(facts.standing(ENCODER)),
        _with_size(facts.standing(PROBE)),
        _with_size(best),
        _with_interval(facts.standing(ENSEMBLE)),
        NOTHING if best is None or best.delta is None else best.delta.word,
        _word(best, lead),
        NOTHING if seconds is None else f"{seconds:.0f}",
    )


def stage_of(facts: Facts) -> str:
    """The task, and how long its encoder was fine-tuned."""
    fraction = facts.store.manifest.encoder.fraction
    return facts.task.name if fraction is None else f"{facts.task.name}, {fraction:g}"


def _word(best: Standing | None, lead: Lead | None) -> str:
    if best is None or lead is None:
        return NOTHING
    return "a rung of it" if best.trial == lead.over.trial else lead.delta.word


def _score(standing: Standing | None) -> str:
    return NOTHING if standing is None else f"{standing.score:.3f}"


def _with_interval(standing: Standing | None) -> str:
    if standing is None:
        return NOTHING
    low, high = standing.interval
    return f"{standing.score:.3f} [{low:.3f}, {high:.3f}]"


def _with_size(standing: Standing | None) -> str:
    return NOTHING if standing is None else f"{_with_interval(standing)}, {count(standing.parameters)}"


def chart_of(all_facts: Sequence[Facts]) -> str:
    """Every run a group of lines, every model in it one."""
    names = [facts.run.study.name for facts in all_facts]
    with drawing("what each model scores", 1.2 + 0.75 * len(names)) as chart:
        axes = chart.axes
        for number, role in enumerate(SHOWN):
            label: str | None = "majority or mean" if role == MAJORITY else role
            for place, facts in enumerate(all_facts):
                standing = facts.standing(role)
                if standing is None:
                    continue
                at = place + APART * (number - (len(SHOWN) - 1) / 2)
                axes.plot(standing.interval, [at] * 2, color=ROLES[role], linewidth=2, alpha=0.6)
                axes.plot(standing.score, at, "o", color=ROLES[role], markersize=6, label=label)
                label = None
        axes.set_yticks(range(len(names)), names)
        axes.set_ylim(len(names) - 0.5, -0.5)
        axes.set_xlabel("score on report, with its 95 % interval")
        axes.grid(axis="x")
        chart.figure.legend(loc="outside upper center", ncols=len(SHOWN), fontsize=9)
    return chart.alone
