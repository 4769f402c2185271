"""Study 4: heads of one stage on the hidden states of every other."""

from collections.abc import Iterator
from functools import cache
from statistics import fmean

from bv_search.encoder.stage import epochs, stage_name
from bv_search.study.entry import Entry
from bv_search.study.exchange import ExchangedScore, read_exchange
from bv_search.study.figures import transfer_figure
from bv_search.study.folder import StudyFolder
from bv_search.study.section import Section
from bv_search.study.table import Cell, Form, StudyTable, TableColumn

Matrix = dict[tuple[float, float], float | None]
"""The score of a stage's best head, by the stage that it learned on and the one whose states it reads."""


def study_transfer(made: StudyFolder) -> Section:
    scores = {entry: dict(_by_stage(made, entry)) for heads in made.heads.values() for entry in heads}
    stages = list(made.heads)
    matrix: Matrix = {
        (learned, scored): scores[made.best[learned]][scored] for learned in stages for scored in stages
    }
    return Section(
        study="transfer",
        title="Heads of one stage on the states of another",
        sentences=tuple(_sentences(matrix, stages)),
        tables=(_matrix_table(made, matrix), _all_table(made, scores)),
        figures=(transfer_figure(made, matrix),),
    )


def _by_stage(made: StudyFolder, entry: Entry) -> Iterator[tuple[float, float | None]]:
    for scored in made.heads:
        if scored == entry.stage:
            yield scored, entry.report
        else:
            found = _exchange(made, entry.stage, scored)
            scores = [
                found[key].score for record in entry.records if (key := (entry.run.name, record.id)) in found
            ]
            yield scored, fmean(scores) if scores else None


@cache
def _exchange(made: StudyFolder, learned: float, scored: float) -> dict[tuple[str, str], ExchangedScore]:
    return read_exchange(made.config.exchange_path(learned, scored), made.stores[scored])


def _sentences(matrix: Matrix, stages: list[float]) -> Iterator[str]:
    for scored in stages:
        known = [(matrix[learned, scored], learned) for learned in stages if learned != scored]
        others = [(score, learned) for score, learned in known if score is not None]
        if not others:
            continue
        best, learned = max(others)
        yield (
            f"On the hidden states after {epochs(scored)} the head that learned on them scores "
            f"{matrix[scored, scored]:.4f}, the best of the others, that of {epochs(learned)}, {best:.4f}."
        )


def _matrix_table(made: StudyFolder, matrix: Matrix) -> StudyTable:
    stages = list(made.heads)
    return StudyTable(
        name="transfer",
        title=f"{made.task.name}: the best head of each stage on the hidden states of every stage",
        columns=(
            TableColumn(name="learned at", form=Form.TEXT),
            TableColumn(name="head", form=Form.TEXT),
            *(TableColumn(name=f"scored at {stage_name(stage)}") for stage in stages),
        ),
        rows=tuple(
            (
                stage_name(learned),
                made.best[learned].head.name,
                *(matrix[learned, scored] for scored in stages),
            )
            for learned in stages
        ),
        note="Stages are epochs of fine-tuning. Scores are of report rows, the mean of the seeds. The head "
        "of a stage is the best on select there. It standardises all states by those of its own stage.",
    )


def _all_table(made: StudyFolder, scores: dict[Entry, dict[float, float | None]]) -> StudyTable:
    stages = list(made.heads)
    rows: list[tuple[Cell, ...]] = [
        (stage_name(entry.stage), entry.title, *(found[scored] for scored in stages))
        for entry, found in scores.items()
    ]
    return StudyTable(
        name="transfer-heads",
        title=f"{made.task.name}: every head on the hidden states of every stage",
        columns=(
            TableColumn(name="learned at", form=Form.TEXT),
            TableColumn(name="head", form=Form.TEXT),
            *(TableColumn(name=f"scored at {stage_name(stage)}") for stage in stages),
        ),
        rows=tuple(rows),
    )
