"""A judge: what heads are worth on the rows of a role, in one shared pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
import pyarrow as pa
import torch

from bv_search.heads.head import Head
from bv_search.scan.ground import labels_of, role_index
from bv_search.scan.loss import LOSSES
from bv_search.scan.rows import Rows
from bv_search.scan.score import Logits, score_heads
from bv_search.store.store import Store
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.row import Role

TOGETHER = 1024  # windows whose losses are added up at once


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
    logits: Logits
    evaluation: Evaluation
    loss: float  # mean over windows

    @property
    def score(self) -> float:
        return self.evaluation.score


class Judge:
    def __init__(self, store: Store, role: Role, rows: Sequence[Rows]) -> None:
        self._store, self._role, self.rows = store, role, rows

    def judge(self, heads: Sequence[Head]) -> list[Verdict | None]:
        """None for a head whose answers are no numbers."""
        if not heads:
            return []
        by_split = [score_heads(heads, rows) for rows in self.rows]
        return [self.weigh(joined(parts)) for parts in zip(*by_split, strict=True)]

    def weigh(self, logits: Logits) -> Verdict | None:
        """What answers are worth, to the first windows if not to all; None if they are no numbers."""
        if not are_numbers(logits):
            return None
        index = self._index.slice(0, len(logits))
        evaluation = self._store.task.evaluate(index, cast("Sequence[np.ndarray]", logits))
        return Verdict(logits=logits, evaluation=evaluation, loss=self._loss(logits))

    @property
    def ids(self) -> list[str]:
        ids: list[str] = self._index["id"].to_pylist()
        return ids

    @cached_property
    def _index(self) -> pa.Table:
        return role_index(self._store, self._role)

    @cached_property
    def _labels_ND(self) -> torch.Tensor:
        return torch.from_numpy(
            np.concatenate([labels_of(split) for split in self._store.splits(self._role)])
        )

    def _loss(self, logits: Logits) -> float:
        total = 0.0
        loss = LOSSES[self._store.task.kind]
        labels_ND = self._labels_ND[: len(logits)]
        for start in range(0, len(logits), TOGETHER):
            here, lengths_N = _side_by_side(logits[start : start + TOGETHER])
            total += float(loss(here[None], lengths_N, labels_ND[start : start + TOGETHER], None))
        return total / len(logits)


def joined(parts: Sequence[Logits]) -> Logits:
    """Of several splits, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [row for part in parts for row in part]


def are_numbers(logits: Logits) -> bool:
    if isinstance(logits, np.ndarray):
        return bool(np.isfinite(logits).all())
    return all(np.isfinite(row).all() for row in logits)


def _side_by_side(logits: Logits) -> tuple[torch.Tensor, torch.Tensor]:
    """Back to back, and how many numbers of rows each window has."""
    if isinstance(logits, np.ndarray):
        return torch.from_numpy(logits), torch.ones(len(logits), dtype=torch.int64)
    lengths_N = torch.tensor([len(row) for row in logits])
    return torch.from_numpy(np.concatenate(logits)), lengths_N
