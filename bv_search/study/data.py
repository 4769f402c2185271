"""Study 3: the best head by its share of the data, beside the encoder at that stage."""

from collections.abc import Iterator

from bv_search.encoder.stage import stage_name
from bv_search.heads.config.adapters import AdapterHead
from bv_search.scan.store_view import train_split
from bv_search.study import published
from bv_search.study.entry import Entry
from bv_search.study.figures import data_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.section import Section
from bv_search.study.table import Cell, Form, StudyTable, TableColumn, after, interval

PUBLISHED_STAGE, PUBLISHED_HEAD = 0.3, 386


def study_data(made: StudyFolder) -> Section:
    return Section(
        study="data",
        title="How many rows a head needs",
        sentences=tuple(_sentences(made)),
        tables=(_table(made),),
        figures=(data_figure(made),),
    )


def rows_of(made: StudyFolder, entry: Entry) -> int:
    """Windows of the training rows that it could learn from."""
    return made.trained(entry).rows(train_split(made.stores[entry.stage]).windows)


def _sentences(made: StudyFolder) -> Iterator[str]:
    for stage, entries in made.amounts.items():
        best = max(entries, key=lambda entry: entry.select)
        enough = next(entry for entry in entries if entry.select >= best.select - best.error)
        share = f"{100 * enough.share:.0f} % of the data ({rows_of(made, enough):,} windows)"
        beside = (
            "its best share, too" if enough is best else f"{100 * best.share:.0f} % gives {best.report:.4f}"
        )
        yield (
            f"{after(stage)}, {share} brings {enough.head.name} within one standard error "
            f"({best.error:.4f}) of its best on select: {enough.report:.4f} on report; {beside}."
        )


def _table(made: StudyFolder) -> StudyTable:
    beside = any(_published(made, entry) for entries in made.amounts.values() for entry in entries)
    return StudyTable(
        name="data",
        title=f"{made.task.name}: the best head of each stage by its share of the data",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="head", form=Form.TEXT),
            TableColumn(name="share of the data", form=Form.SHARE),
            TableColumn(name="windows", form=Form.COUNT),
            TableColumn(name="score"),
            TableColumn(name="± seeds"),
            TableColumn(name="95 % interval", form=Form.TEXT),
            TableColumn(name="encoder"),
            TableColumn(name="over the encoder", form=Form.DELTA),
            *([TableColumn(name="EM"), TableColumn(name="published EM")] if beside else []),
        ),
        rows=tuple(_rows(made, beside=beside)),
        note=f"The score is {made.task.metric} on report rows, the mean of {made.config.seeds} seeds. A "
        "share is the first part of the training rows in the store's order, which is random.",
    )


def _rows(made: StudyFolder, *, beside: bool) -> Iterator[tuple[Cell, ...]]:
    for stage, entries in made.amounts.items():
        own = made.stages[stage].metrics.get("report", {}).get("score")
        for entry in entries:
            cells: tuple[Cell, ...] = (
                stage_name(stage),
                entry.head.name,
                entry.share,
                rows_of(made, entry),
                entry.report,
                entry.spread,
                interval(entry.interval),
                own,
                None if own is None else entry.report - own,
            )
            yield (*cells, entry.metrics.get("exact"), _published(made, entry)) if beside else cells


def _published(made: StudyFolder, entry: Entry) -> float | None:
    head = entry.head
    same = isinstance(head, AdapterHead) and head.size == PUBLISHED_HEAD and entry.stage == PUBLISHED_STAGE
    if not same or made.task.name != "squad2-span" or not published.is_published(made.stores[entry.stage]):
        return None
    return published.SHARES.get(entry.share)
