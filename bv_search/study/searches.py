"""Study 7 of the source work: what a search of heads and of how they are trained finds at each stage."""

from collections.abc import Iterator
from typing import Any

from bv_search.encoder.stage import stage_name
from bv_search.run.folder import Run
from bv_search.run.leaderboard import describe
from bv_search.run.luck import Luck
from bv_search.run.trial import TrialRecord
from bv_search.study.folder import StudyFolder
from bv_search.study.section import Section
from bv_search.study.steps import SEARCH
from bv_search.study.table import Cell, Form, StudyTable, TableColumn, after, interval


def study_searches(made: StudyFolder) -> Section:
    runs = {stage: run for stage in made.config.marks if (run := made.run(SEARCH, stage)) is not None}
    return Section(
        study="search",
        title="What a search finds",
        sentences=tuple(_sentence(stage, run) for stage, run in runs.items()),
        tables=(_table(made, runs),),
    )


def _winner(run: Run) -> TrialRecord:
    return next(record for record in run.finished_trials() if record.is_searched)


def _sentence(stage: float, run: Run) -> str:
    winner, luck = _winner(run), Luck.of(run.finished_trials())
    size = f"{winner.parameters or 0:,} parameters"
    return f"{after(stage)} the winner has {size}: {luck}; report {winner.report_score or 0.0:.4f}."


def _table(made: StudyFolder, runs: dict[float, Run]) -> StudyTable:
    return StudyTable(
        name="search",
        title=f"{made.task.name}: the winner of the search at each stage",
        columns=(
            TableColumn(name="epochs", form=Form.TEXT),
            TableColumn(name="trials", form=Form.COUNT),
            TableColumn(name="seconds", form=Form.COUNT),
            TableColumn(name="parameters", form=Form.COUNT),
            TableColumn(name="select"),
            TableColumn(name="of it luck"),
            TableColumn(name="report"),
            TableColumn(name="95 % interval", form=Form.TEXT),
            TableColumn(name="winner", form=Form.TEXT),
        ),
        rows=tuple(_rows(runs)),
        note=f"The space is {_spaces(runs)}. Luck is what the best on rows drawn anew scores there above "
        "what it scores on all rows of select.",
    )


def _rows(runs: dict[float, Run]) -> Iterator[tuple[Cell, ...]]:
    for stage, run in runs.items():
        winner, luck = _winner(run), Luck.of(run.finished_trials())
        yield (
            stage_name(stage),
            run.study.trials,
            round(run.seconds().get("total", 0.0), 1),
            winner.parameters,
            winner.score,
            None if luck is None else luck.share,
            winner.report_score,
            interval(winner.interval),
            describe(winner.config),
        )


def _spaces(runs: dict[float, Run]) -> str:
    names: dict[Any, None] = dict.fromkeys(run.study.space["name"] for run in runs.values())
    return ", ".join(map(str, names))
