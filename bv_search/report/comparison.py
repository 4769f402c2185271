"""Several runs side by side: a table, a chart and a page, for what can be said of many tasks at once."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from bv_search.files import write_text
from bv_search.model.standings import BEST, ENSEMBLE, Lead, Standing
from bv_search.report.chart import Chart
from bv_search.report.charts import ROLES, drawing_narrow
from bv_search.report.conclusion import is_gain
from bv_search.report.facts import Facts
from bv_search.report.formatting import NOTHING, cell, count
from bv_search.report.frame import environment
from bv_search.report.linked import (
    GROUP,
    REPORT,
    SELECT,
    SHARE,
    BoardRow,
    Column,
    HeadColumns,
    columns_of,
    kind_of,
    measures,
)
from bv_search.run.folder import REPORT_HTML
from bv_search.run.leaderboard import describe, leaderboard
from bv_search.run.trial import TrialRecord
from bv_search.scan.ladder import ENCODER, MAJORITY, PROBE
from bv_search.tasks.evaluation import Delta, difference

TABLE, CHART, PAGE = "results.md", "results.svg", "results.html"
SHOWN = (MAJORITY, ENCODER, PROBE, BEST, ENSEMBLE)
COLUMNS = (
    "run", "task, epochs", "majority or mean", "encoder", "best linear probe, parameters",
    "best head, parameters", "ensemble", "head and encoder", "head and ladder", "seconds of `tune`",
)  # fmt: skip
RUN = "run"
APART = 0.15  # of the distance between two runs, from a model to the next


def write_together(all_facts: Sequence[Facts], folder: Path) -> tuple[Path, ...]:
    table, chart, page = folder / TABLE, folder / CHART, folder / PAGE
    drawn = chart_of(all_facts)
    write_text(table, table_of(all_facts))
    write_text(chart, drawn.alone)
    write_text(page, page_of(all_facts, drawn.svg, folder))
    return table, chart, page


def table_of(all_facts: Sequence[Facts]) -> str:
    """As Markdown. Scores are of report rows, with their intervals."""
    numbers = "|".join("---" if column in COLUMNS[:2] else "--:" for column in COLUMNS)
    rows = [COLUMNS, *map(_cells, all_facts)]
    head, *body = [f"| {' | '.join(map(cell, cells))} |" for cells in rows]
    return "\n".join([head, f"|{numbers}|", *body, ""])


def page_of(all_facts: Sequence[Facts], chart: str, folder: Path) -> str:
    """The same, with all heads of all runs in charts that are linked. It stands in `folder`."""
    names = names_of(all_facts)
    places = [os.path.relpath(facts.run.path / REPORT_HTML, folder) for facts in all_facts]
    return (
        environment()
        .get_template("results.html.j2")
        .render(
            conclusion=conclude_all(all_facts),
            chart=chart,
            columns=COLUMNS[1:],
            rows=[
                (name, place, _cells(facts)[1:])
                for name, place, facts in zip(names, places, all_facts, strict=True)
            ],
            leads=leads_of(all_facts, names),
            first=names[0],
            linked=heads_of(all_facts, names).to_json(),
            board=_board(all_facts, names),
            board_columns=("run",),
            figure="",
            caption="Every finished head of all runs.",
        )
    )


def names_of(all_facts: Sequence[Facts]) -> list[str]:
    """Runs by their names; those of one name by their places."""
    times = Counter(facts.run.study.name for facts in all_facts)
    return [
        facts.run.study.name if times[facts.run.study.name] == 1 else str(facts.run.path)
        for facts in all_facts
    ]


def conclude_all(all_facts: Sequence[Facts]) -> str:
    """In one sentence, how often a search was worth its while."""
    counts = [sum(is_gain(facts, facts.standing(role)) for facts in all_facts) for role in (BEST, ENSEMBLE)]
    of = f"{len(all_facts)} runs"
    return (
        f"In {counts[0]} of {of} the best head is a gain over all that needs no search, "
        f"in {counts[1]} the ensemble."
    )


def leads_of(all_facts: Sequence[Facts], names: Sequence[str]) -> list[tuple[str, Delta]]:
    """How far each run's best head is ahead of the first run's, where both answer the same rows."""
    first, *others = zip(names, all_facts, strict=True)
    best = first[1].standing(BEST)
    leads = []
    for name, facts in others:
        own = facts.standing(BEST)
        if own is not None and best is not None and _same_rows(facts, first[1]):
            leads.append((name, difference(own.evaluation, best.evaluation)))
    return leads


def _same_rows(ours: Facts, theirs: Facts) -> bool:
    stores = ours.store.manifest, theirs.store.manifest
    return stores[0].data == stores[1].data and stores[0].task == stores[1].task


def heads_of(all_facts: Sequence[Facts], names: Sequence[str]) -> HeadColumns:
    """Of a run each; what the runs differ in stands before what their heads were drawn as."""
    groups = [_drawn(facts) for facts in all_facts]
    records = [record for group in groups for record in group]
    runs = [(name, facts) for name, facts, group in zip(names, all_facts, groups, strict=True) for _ in group]
    entries = [facts.store.manifest.encoder for _, facts in runs]
    run = Column(key=RUN, title=RUN, values=[name for name, _ in runs])
    kind = Column(key=GROUP, title=GROUP, values=[kind_of(record) for record in records])
    epochs = Column(key="epochs", title="epochs of fine-tuning", values=[entry.fraction for entry in entries])
    differs = [epochs] if epochs.varies else []
    return HeadColumns(
        ids=[f"{name}/{record.id}" for (name, _), record in zip(runs, records, strict=True)],
        drawn=[kind, *columns_of(records)],
        measured=[
            *differs,
            *measures(records, "score", [facts.run.study.data_fraction for _, facts in runs]),
        ],
        across=("parameters", epochs.key, SHARE, "seconds", "rows"),
        up=(REPORT, SELECT),
        group=run,
        intervals={REPORT: [record.interval for record in records]},
    )


def _drawn(facts: Facts) -> list[TrialRecord]:
    return [record for record in facts.ranked if record.rung != MAJORITY]


def _board(all_facts: Sequence[Facts], names: Sequence[str]) -> list[BoardRow]:
    return [
        BoardRow(
            id=f"{name}/{record.id}", rank=rank, record=record, head=describe(record.config), before=(name,)
        )
        for name, facts in zip(names, all_facts, strict=True)
        for rank, record in enumerate(leaderboard(facts.records), start=1)
    ]


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


def chart_of(all_facts: Sequence[Facts]) -> Chart:
    """Every run a group of lines, every model in it one."""
    names = [facts.run.study.name for facts in all_facts]
    with drawing_narrow("what each model scores", 1.2 + 0.75 * len(names)) as chart:
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
        chart.figure.legend(loc="outside upper center", ncols=3, fontsize=9)
    return chart
