"""The rows that choose among models: those of select, and those of train that all have answered unseen.

Unseen is a row that the encoder was not fine-tuned on, nor the copy of a head that answers: with folds, each
copy answers for the fold that it did not learn from.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa

from bv_search.run.predictions import predictions_file, read_predictions
from bv_search.run.roles import encoder_logits, role_ids
from bv_search.scan.folds import Folds
from bv_search.scan.store_view import role_index, train_split
from bv_search.store.store import Store
from bv_search.tasks.row import Role
from bv_search.tasks.window import SCORING


@dataclass(frozen=True, kw_only=True, eq=False)
class Choosers:
    store: Store
    train: np.ndarray  # numbers of windows of train, in order; those of select come after them

    @classmethod
    def of_folds(cls, store: Store, folds: int) -> Self:
        """Those that heads of so many copies are judged by."""
        none = np.empty(0, np.int64)
        return cls(store=store, train=Folds.of(store, folds).judged_train(store) if folds > 1 else none)

    @classmethod
    def shared(cls, store: Store, answered: Iterable[Collection[str]]) -> Self:
        """Given the windows of train that each model has answered."""
        index = train_split(store).index_columns(["id", "seen"])
        ids, seen = index["id"].to_pylist(), index["seen"].to_pylist()
        unseen = {window for window, known in zip(ids, seen, strict=True) if not known}
        by_all = unseen.intersection(*answered)
        numbers = [number for number, window in enumerate(ids) if window in by_all]
        return cls(store=store, train=np.array(numbers, np.int64))

    @cached_property
    def index(self) -> pa.Table:
        """What scoring needs of every window."""
        of_train = train_split(self.store).index_columns(SCORING).take(pa.array(self.train))
        return pa.concat_tables([of_train, role_index(self.store, Role.SELECT)])

    @property
    def rows(self) -> int:
        """Each may have several windows."""
        return len(set(self.index["row"].to_pylist()))

    def trial_logits(self, folder: Path) -> list[np.ndarray]:
        """What a trial has said of them."""
        said = train_answers(folder)
        ids = self.index["id"].to_pylist()[: len(self.train)]
        path = folder / predictions_file(Role.SELECT)
        select = read_predictions(path, ids=role_ids(self.store, Role.SELECT)).logits
        return [*(said[window] for window in ids), *select]

    def encoder_logits(self) -> list[np.ndarray] | None:
        """The encoder's own, or None where it was never fine-tuned."""
        of_train, select = (encoder_logits(self.store, role) for role in (Role.TRAIN, Role.SELECT))
        if of_train is None or select is None:
            return None
        return [*(of_train[number] for number in self.train), *select]

    def __str__(self) -> str:
        return describe(self.to_json())

    def to_json(self) -> dict[str, Any]:
        return {"rows": self.rows, "out_of_fold": len(self.train) > 0}


def describe(choosers: Mapping[str, Any]) -> str:
    """The same in words, from what was written of them."""
    return f"{choosers['rows']:,} rows {'out of fold' if choosers['out_of_fold'] else 'of select'}"


def train_answers(folder: Path) -> dict[str, np.ndarray]:
    """What a trial has said out of fold, by window; without folds, nothing."""
    path = folder / predictions_file(Role.TRAIN)
    if not path.exists():
        return {}
    said = read_predictions(path)
    return dict(zip(said.ids, said.logits, strict=True))
