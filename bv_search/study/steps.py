"""The steps of studies: what is to be made for which of them, in its order, and what is there already."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from bv_search.encoder.stage import is_stage, stage_name
from bv_search.model.loading import is_run
from bv_search.run.folder import Run
from bv_search.store.layout import MANIFEST
from bv_search.study.config import (
    ANSWER,
    CURVE,
    DATA,
    ENSEMBLES,
    ERRORS,
    HEADS,
    LAYERS,
    SEARCHES,
    STUDIES,
    TRANSFER,
    StudiesConfig,
)


class StepKind(StrEnum):
    """What a step makes, and the folder that it is in."""

    FINETUNE = "finetune"
    EXTRACT = "extract"
    GRID = "heads"  # a run of all heads of the grid
    SEARCH = "search"
    WINNER = "winner"  # a run of the search's best head, with each seed
    AMOUNTS = "data"  # a run of the best head of all, on each share of the data
    EXCHANGE = "exchange"  # heads of a stage on the hidden states of another


FINETUNE, EXTRACT, GRID, SEARCH, WINNER, AMOUNTS, EXCHANGE = StepKind
RUN_STEPS = (GRID, SEARCH, WINNER, AMOUNTS)

NEEDS = {
    CURVE: {FINETUNE},
    HEADS: {FINETUNE, EXTRACT, GRID, SEARCH, WINNER},
    SEARCHES: {FINETUNE, EXTRACT, SEARCH},
    DATA: {FINETUNE, EXTRACT, GRID, SEARCH, WINNER, AMOUNTS},
    TRANSFER: {FINETUNE, EXTRACT, GRID, SEARCH, WINNER, EXCHANGE},
    ENSEMBLES: {FINETUNE, EXTRACT, GRID, SEARCH, WINNER},
    LAYERS: {FINETUNE, EXTRACT, GRID},
    ERRORS: {FINETUNE, EXTRACT, GRID, SEARCH, WINNER},
    ANSWER: {FINETUNE, EXTRACT, GRID, SEARCH, WINNER, AMOUNTS},
}
assert NEEDS.keys() == set(STUDIES)


@dataclass(frozen=True, kw_only=True)
class WorkStep:
    kind: StepKind
    stage: float | None = None  # None: all of them
    scored: float | None = None  # of an exchange: the stage whose hidden states are read

    @property
    def name(self) -> str:
        stages = [stage_name(each) for each in (self.stage, self.scored) if each is not None]
        return " ".join([self.kind, " on ".join(stages)]).strip()


def plan(config: StudiesConfig) -> list[WorkStep]:
    """All that the studies need, each once: a stage's work before the next one's, exchanges last."""
    needed = set().union(*(NEEDS[study] for study in config.only))
    return [step for step in _all(config.marks) if step.kind in needed]


def _all(stages: tuple[float, ...]) -> Iterator[WorkStep]:
    yield WorkStep(kind=FINETUNE)
    for stage in stages:
        for kind in (EXTRACT, *RUN_STEPS):
            yield WorkStep(kind=kind, stage=stage)
    for learned in stages:
        for scored in stages:
            if scored != learned:
                yield WorkStep(kind=EXCHANGE, stage=learned, scored=scored)


def is_done(config: StudiesConfig, step: WorkStep) -> bool:
    if step.kind == FINETUNE:
        return all(is_stage(config.stage_path(stage)) for stage in config.marks)
    assert step.stage is not None, "only fine-tuning is of all stages"
    if step.kind == EXTRACT:
        return (config.store_path(step.stage) / MANIFEST).is_file()
    if step.kind == EXCHANGE:
        assert step.scored is not None, "an exchange is between two stages"
        return config.exchange_path(step.stage, step.scored).is_file()
    path = config.run_path(step.kind, step.stage)
    return is_run(path) and _has_ended(Run.open(path))


def _has_ended(run: Run) -> bool:
    """All of its trials, and what comes after the last of them."""
    searched = [record for record in run.trials() if record.is_searched]
    return run.has_ended and sum(record.finished for record in searched) == run.study.trials
