"""What fine-tuning works on: a model and the windows of each role."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from bv_search.encoder.checkpoint import Checkpoint
from bv_search.encoder.training import Step
from bv_search.tasks.row import Dataset, Role
from bv_search.tasks.task import Placement, Task


@dataclass(frozen=True, kw_only=True)
class Material:
    checkpoint: Checkpoint
    task: Task
    dataset: Dataset

    @cached_property
    def windows(self) -> dict[Role, pa.Table]:
        """Tokenised when they are first asked for."""
        tokenizer = self.checkpoint.tokenizer
        return {role: self.task.windows(self.dataset.rows(role), tokenizer) for role in Role}

    @property
    def rows(self) -> int:
        return sum(len(split.rows) for split in self.dataset.splits)

    @property
    def placement(self) -> Placement:
        return sum((self.task.placement(windows) for windows in self.windows.values()), Placement())

    def keys_of(self, step: Step) -> np.ndarray:
        """Of the rows that were met up to a step at which a fraction is reached."""
        assert step.met is not None
        return np.unique(self.windows[Role.TRAIN].column("key").to_numpy()[step.met])
