"""Study 2: every head of the grid, and the winner of a search, at each stage beside the encoder there."""

from collections.abc import Iterator
from functools import partial

from bv_search.encoder.stage import stage_name
from bv_search.study import published
from bv_search.study.entry import Entry, best_entry
from bv_search.study.figures import heads_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.judged import Judged
from bv_search.study.section import Section
from bv_search.study.table import Cell, Form, StudyTable, TableColumn, after, interval
from bv_search.tasks.evaluation import Delta
from bv_search.tasks.task import Kind

LAYOUT = {Kind.SPAN: {"EM": "exact", "F1": "f1"}}
"""The source work's columns, where they are not simply the task's own figures."""


def study_heads(made: StudyFolder) -> Section:
    over = dict(_over_encoder(made))
    return Section(
        study="heads",
        title="Small heads beside the encoder",
        sentences=tuple(_sentences(made, over)),
        tables=(paper_table(made), _table(made, over)),
        figures=(heads_figure(made),),
    )


def _over_encoder(made: StudyFolder) -> Iterator[tuple[Entry, Delta | None]]:
    for stage, heads in made.heads.items():
        judged = Judged(store=made.stores[stage])
        yield from ((entry, judged.over_encoder(entry)) for entry in (*heads, *best_probe(made, stage)))


def best_probe(made: StudyFolder, stage: float) -> list[Entry]:
    """On select; none where there is no ladder."""
    probes = made.probes.get(stage, [])
    return [best_entry(probes)] if probes else []


def _sentences(made: StudyFolder, over: dict[Entry, Delta | None]) -> Iterator[str]:
    for stage, best in made.best.items():
        size = f"{best.parameters:,} parameters"
        text = f"{after(stage)} the best head on select, {_called(best)} with {size}"
        delta, probe = over[best], best_probe(made, stage)
        beside = "" if delta is None else f", {delta.beside('the encoder')}: {delta}"
        text += f", scores {best.report:.4f}{beside}."
        if probe and probe[0].report >= best.report:
            text += f" The {probe[0].title}, which needs no search, scores {probe[0].report:.4f}."
        yield text


def _called(entry: Entry) -> str:
    return f"the {entry.title}" if entry.is_winner else entry.title


def paper_table(made: StudyFolder) -> StudyTable:
    """In the source work's layout: a line for each head, its figures stage by stage."""
    names = _figures(made)
    stages = list(made.heads)
    beside = _published_stages(made)
    titles = list(dict.fromkeys(entry.title for heads in made.heads.values() for entry in heads))
    rows: list[tuple[Cell, ...]] = [("encoder", made.encoder_parameters, 100.0, *_of_encoder(made, stages))]
    for title in titles:
        found = {stage: entry for stage in stages for entry in made.heads[stage] if entry.title == title}
        entry = next(iter(found.values()))
        cells: list[Cell] = []
        for stage in stages:
            metrics = found[stage].metrics if stage in found else {}
            cells += [metrics.get(key) for key in names.values()]
            if stage in beside:
                table = published.HEADS[made.task.name].get(entry.head, {})
                cells += table.get(stage, published.NONE) if not entry.is_winner else published.NONE
        same = len({each.parameters for each in found.values()}) == 1
        size = (entry.parameters, entry.percent) if same else (None, None)
        rows.append((title, *size, *cells))
    columns = [
        TableColumn(name="model", form=Form.TEXT),
        TableColumn(name="parameters", form=Form.COUNT),
        TableColumn(name="% of the encoder", form=Form.PERCENT),
    ]
    for stage in stages:
        columns += [TableColumn(name=f"{name} {stage_name(stage)}") for name in names]
        columns += published.columns(stage_name(stage)) if stage in beside else ()
    return StudyTable(
        name="heads",
        title=f"{made.task.name}: heads by epochs of the encoder's fine-tuning",
        columns=tuple(columns),
        rows=tuple(rows),
        note=f"Means of {made.config.seeds} seeds, on report rows. The winner of a search is another head at "
        "each stage: its sizes are in the table below.",
    )


def _figures(made: StudyFolder) -> dict[str, str]:
    """What the columns are called, and which of the metrics they are."""
    layout = LAYOUT.get(made.task.kind)
    first = next(iter(made.best.values())).metrics
    return layout or {name: name for name in first}


def _published_stages(made: StudyFolder) -> set[float]:
    store = next(iter(made.stores.values()))
    return set(published.ENCODER[made.task.name]) if published.is_published(store) else set()


def _of_encoder(made: StudyFolder, stages: list[float]) -> Iterator[Cell]:
    beside = _published_stages(made)
    for stage in stages:
        metrics = made.stages[stage].metrics.get("report", {})
        yield from (metrics.get(key) for key in _figures(made).values())
        if stage in beside:
            yield from published.ENCODER[made.task.name].get(stage, published.NONE)


def _table(made: StudyFolder, over: dict[Entry, Delta | None]) -> StudyTable:
    return StudyTable(
        name="heads-by-stage",
        title=f"{made.task.name}: every head at every stage, with its interval",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="model", form=Form.TEXT),
            TableColumn(name="parameters", form=Form.COUNT),
            TableColumn(name="% of the encoder", form=Form.PERCENT),
            TableColumn(name="score"),
            TableColumn(name="± seeds"),
            TableColumn(name="95 % interval", form=Form.TEXT),
            TableColumn(name="over the encoder", form=Form.TEXT),
            TableColumn(name="verdict", form=Form.TEXT),
        ),
        rows=tuple(_rows(made, over)),
        note=f"The score is {made.task.metric} on report rows, the mean of the seeds; ± is the standard "
        "deviation between them. Differences are paired: by the same draws of rows for both. The best linear "
        "probe is that of select.",
    )


def _rows(made: StudyFolder, over: dict[Entry, Delta | None]) -> Iterator[tuple[Cell, ...]]:
    for stage, heads in made.heads.items():
        name, saved = stage_name(stage), made.stages[stage]
        size = made.encoder_parameters
        if saved.metrics:
            score = saved.metrics["report"]["score"]
            yield name, "encoder", size, 100.0, score, None, interval(saved.interval), None, None
        row = partial(_row, name)
        yield from (row(f"best {each.title}", each, over) for each in best_probe(made, stage))
        for entry in heads:
            title = f"{entry.title}: {entry.head.name}" if entry.is_winner else entry.title
            yield row(title, entry, over)


def _row(stage: str, title: str, entry: Entry, over: dict[Entry, Delta | None]) -> tuple[Cell, ...]:
    delta = over[entry]
    return (
        stage,
        title,
        entry.parameters,
        entry.percent,
        entry.report,
        entry.spread,
        interval(entry.interval),
        None if delta is None else str(delta),
        None if delta is None else delta.word,
    )
