"""Answers of models on the rows of report of one store, judged: what a paired difference needs."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from bv_search.run.folder import Run
from bv_search.run.predictions import read_predictions
from bv_search.run.roles import encoder_logits, role_ids
from bv_search.scan.store_view import role_index
from bv_search.store.store import Store
from bv_search.study.entry import Entry
from bv_search.tasks.evaluation import INTERVAL, Delta, Evaluation
from bv_search.tasks.row import Role
from bv_search.tasks.votes import RoleLogits

SAMPLES = 1000


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    store: Store

    @cached_property
    def index(self) -> pa.Table:
        return role_index(self.store, Role.REPORT)

    @cached_property
    def encoder_logits(self) -> list[np.ndarray] | None:
        return encoder_logits(self.store, Role.REPORT)

    @cached_property
    def encoder(self) -> Evaluation | None:
        return None if self.encoder_logits is None else self.evaluate(self.encoder_logits)

    def logits(self, run: Run, trial: str, role: Role = Role.REPORT) -> list[np.ndarray]:
        ids = role_ids(self.store, role)
        return read_predictions(run.trial_file(trial, f"{role}.parquet"), ids=ids).logits

    def evaluate(self, logits: RoleLogits) -> Evaluation:
        return self.store.task.evaluate(self.index, list(logits))

    def over_encoder(self, entry: Entry) -> Delta | None:
        """The mean of its seeds minus the encoder, on the same draws of rows."""
        if self.encoder is None:
            return None
        ours = [self.evaluate(self.logits(entry.run, record.id)) for record in entry.records]
        gains = np.mean([each.draws(SAMPLES) for each in ours], axis=0) - self._encoder_draws
        low, high = np.percentile(gains, INTERVAL)
        value = float(np.mean([each.score for each in ours])) - self.encoder.score
        return Delta(value, float(low), float(high))

    @cached_property
    def _encoder_draws(self) -> np.ndarray:
        assert self.encoder is not None, "asked for only where there is one"
        return self.encoder.draws(SAMPLES)
