"""Judges: what heads are worth on some rows, in one shared pass."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import cast

import numpy as np
import pyarrow as pa
import torch

from bv_search.heads.copies import Copies
from bv_search.scan.folds import Folds
from bv_search.scan.loss import LOSSES
from bv_search.scan.outcome import RoleAnswers
from bv_search.scan.rows import Rows
from bv_search.scan.score import score_copies, score_heads
from bv_search.scan.store_view import labels_of, role_index
from bv_search.store.store import Store
from bv_search.tasks.evaluation import Evaluation
from bv_search.tasks.row import Role
from bv_search.tasks.task import Kind, Task
from bv_search.tasks.votes import RoleLogits, mean_logits
from bv_search.tasks.window import SCORING

TOGETHER = 1024  # windows whose losses are added up at once


@dataclass(frozen=True, kw_only=True, eq=False)
class Verdict:
    logits: RoleLogits
    evaluation: Evaluation
    loss: float  # mean over windows

    @property
    def score(self) -> float:
        return self.evaluation.score

    def answers(self, ids: list[str], *, told: bool) -> RoleAnswers:
        """As they are written down; those that are told have an interval, those that choose draws."""
        return RoleAnswers(
            ids=ids,
            logits=self.logits[-len(ids) :],  # with folds, what is said of train stands before it
            loss=self.loss,
            score=self.score,
            interval=self.evaluation.interval() if told else None,
            draws=() if told else self.evaluation.draws().tolist(),
            metrics=self.evaluation.metrics,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Scales:
    """What answers to some windows are weighed by."""

    task: Task
    index: pa.Table  # what scoring needs of every window
    labels_ND: torch.Tensor

    def weigh(self, logits: RoleLogits) -> Verdict | None:
        """What answers are worth, to the first windows if not to all; None where that is no number."""
        if not are_numbers(logits) or not isfinite(loss := self._loss(logits)):
            return None
        index = self.index.slice(0, len(logits))
        evaluation = self.task.evaluate(index, cast("Sequence[np.ndarray]", logits))
        return Verdict(logits=logits, evaluation=evaluation, loss=loss)

    def _loss(self, logits: RoleLogits) -> float:
        total = 0.0
        loss = LOSSES[self.task.kind]
        labels_ND = self.labels_ND[: len(logits)]
        for start in range(0, len(logits), TOGETHER):
            here, lengths_N = _side_by_side(logits[start : start + TOGETHER])
            total += float(loss(here[None], lengths_N, labels_ND[start : start + TOGETHER], None))
        return total / len(logits)


class Judge(ABC):
    """Of each head come all its copies."""

    def __init__(self, task: Task) -> None:
        self._task = task

    @abstractmethod
    def judge(self, heads: Sequence[Copies]) -> list[Verdict | None]:
        """None for a head whose answers are no numbers."""

    @property
    def kind(self) -> Kind:
        return self._task.kind

    def weigh(self, logits: RoleLogits) -> Verdict | None:
        return self._scales.weigh(logits)

    @cached_property
    @abstractmethod
    def _scales(self) -> Scales: ...


class RoleJudge(Judge):
    """By the rows of a role. Copies of a head answer by their mean."""

    def __init__(self, store: Store, role: Role, rows: Sequence[Rows]) -> None:
        super().__init__(store.task)
        self._store, self._role, self.rows = store, role, rows

    def judge(self, heads: Sequence[Copies]) -> list[Verdict | None]:
        if not heads:
            return []
        each = [head for copies in heads for head in copies]
        by_split = [score_heads(each, rows) for rows in self.rows]
        said = map(joined, zip(*by_split, strict=True))
        return [self._weigh_mean([next(said) for _ in copies]) for copies in heads]

    def _weigh_mean(self, said: Sequence[RoleLogits]) -> Verdict | None:
        """No mean hides that a copy's answers are no numbers."""
        return self.weigh(mean_logits(said, self._task.kind)) if all(map(are_numbers, said)) else None

    @cached_property
    def _scales(self) -> Scales:
        labels_ND = np.concatenate([labels_of(split) for split in self._store.splits(self._role)])
        index = role_index(self._store, self._role)
        return Scales(task=self._task, index=index, labels_ND=torch.from_numpy(labels_ND))


class FoldJudge(Judge):
    """By the rows that heads learn from: each copy by those of its own fold, which it does not learn from."""

    def __init__(self, rows: Rows, folds: Folds) -> None:
        super().__init__(rows.split.store.task)
        self._rows, self._folds = rows, folds

    def judge(self, heads: Sequence[Copies]) -> list[Verdict | None]:
        return (
            [self.weigh(logits) for logits in score_copies(heads, self._rows, self._folds)] if heads else []
        )

    @cached_property
    def _scales(self) -> Scales:
        index = self._rows.split.index_columns(SCORING).take(pa.array(self._folds.judged))
        labels_ND = torch.from_numpy(labels_of(self._rows.split)[self._folds.judged])
        return Scales(task=self._task, index=index, labels_ND=labels_ND)


def joined(parts: Sequence[RoleLogits]) -> RoleLogits:
    """Of several splits, one after the other."""
    if len(parts) == 1:
        return parts[0]
    if all(isinstance(part, np.ndarray) for part in parts):
        return np.concatenate(parts)
    return [row for part in parts for row in part]


def are_numbers(logits: RoleLogits) -> bool:
    if isinstance(logits, np.ndarray):
        return bool(np.isfinite(logits).all())
    return all(np.isfinite(row).all() for row in logits)


def _side_by_side(logits: RoleLogits) -> tuple[torch.Tensor, torch.Tensor]:
    """Back to back, and how many numbers of rows each window has."""
    if isinstance(logits, np.ndarray):
        return torch.from_numpy(logits), torch.ones(len(logits), dtype=torch.int64)
    lengths_N = torch.tensor([len(row) for row in logits])
    return torch.from_numpy(np.concatenate(logits)), lengths_N
