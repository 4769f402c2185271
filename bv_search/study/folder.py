"""What the steps have left: stages, stores and runs, each opened once. Studies read nothing else."""

from dataclasses import dataclass
from functools import cached_property

from bv_search.encoder.stage import Stage, is_stage, read_stage
from bv_search.model.loading import is_run
from bv_search.run.folder import Run
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MANIFEST
from bv_search.store.store import Store
from bv_search.study.config import StudiesConfig
from bv_search.study.entry import WINNER_TITLE, Entry, best_entry, entries_of, probes_of
from bv_search.study.steps import AMOUNTS, GRID, SEARCH, WINNER
from bv_search.tasks.registry import find_task
from bv_search.tasks.task import Task


@dataclass(frozen=True, kw_only=True, eq=False)
class StudyFolder:
    config: StudiesConfig

    @cached_property
    def task(self) -> Task:
        return find_task(self.config.task)

    @cached_property
    def stages(self) -> dict[float, Stage]:
        """From the least fine-tuning up."""
        paths = {stage: self.config.stage_path(stage) for stage in self.config.marks}
        return {stage: read_stage(path) for stage, path in paths.items() if is_stage(path)}

    @cached_property
    def stores(self) -> dict[float, Store]:
        paths = {stage: self.config.store_path(stage) for stage in self.config.marks}
        return {stage: Store.open(path) for stage, path in paths.items() if (path / MANIFEST).is_file()}

    @property
    def encoder_parameters(self) -> int:
        return next(iter(self.stores.values())).encoder_parameters

    @property
    def encoder_name(self) -> str:
        return next(iter(self.stages.values())).encoder.id

    def run(self, kind: str, stage: float) -> Run | None:
        return self._runs.get((kind, stage))

    @cached_property
    def _runs(self) -> dict[tuple[str, float], Run]:
        kinds = (GRID, SEARCH, WINNER, AMOUNTS)
        paths = {
            (kind, stage): self.config.run_path(kind, stage) for kind in kinds for stage in self.config.marks
        }
        return {which: Run.open(path) for which, path in paths.items() if is_run(path)}

    @cached_property
    def heads(self) -> dict[float, list[Entry]]:
        """At each stage: the grid's in its order, and the winner of the search."""
        return {stage: found for stage in self.config.marks if (found := self._heads(stage))}

    def _heads(self, stage: float) -> list[Entry]:
        grid, winner = self.run(GRID, stage), self.run(WINNER, stage)
        return [
            *(entries_of(grid, stage) if grid else ()),
            *(entries_of(winner, stage, WINNER_TITLE) if winner else ()),
        ]

    @cached_property
    def best(self) -> dict[float, Entry]:
        """The best of these on select."""
        return {stage: best_entry(heads) for stage, heads in self.heads.items()}

    @cached_property
    def probes(self) -> dict[float, list[Entry]]:
        """The ladder's linear probes, of each layer and of all."""
        runs = {stage: self.run(GRID, stage) for stage in self.config.marks}
        return {
            stage: probes_of(run, stage, self.stores[stage].manifest.layers)
            for stage, run in runs.items()
            if run is not None
        }

    @cached_property
    def amounts(self) -> dict[float, list[Entry]]:
        """The best head on each share of the data."""
        runs = {stage: self.run(AMOUNTS, stage) for stage in self.config.marks}
        found = {stage: entries_of(run, stage) for stage, run in runs.items() if run is not None}
        return {stage: sorted(each, key=lambda entry: entry.share) for stage, each in found.items()}

    @staticmethod
    def trained(entry: Entry) -> TrainingConfig:
        """How a head was trained."""
        return TrialConfig.from_json(entry.config).training
