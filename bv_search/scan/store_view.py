"""What a store gives a scan: the shape of its heads, the rows of its roles. Free of torch."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from bv_search.heads.config import HeadShape
from bv_search.store.doubts import HELD, doubts_of_rows
from bv_search.store.joined import AnySplit, JoinedSplit
from bv_search.store.store import Store, StoreSplit
from bv_search.tasks.row import Role
from bv_search.tasks.window import SCORING


def train_split(store: Store) -> StoreSplit:
    (split,) = store.splits(Role.TRAIN)
    return split


def learned_split(store: Store, *, folds: int = 1) -> AnySplit:
    """The rows that heads learn from: train; with folds, the rows of select come after them."""
    return train_split(store) if folds == 1 else joined_split(store)


def joined_split(store: Store) -> JoinedSplit:
    """Train, and the rows of select after it: all that heads may learn from, once nothing more is chosen."""
    (select,) = store.splits(Role.SELECT)
    return JoinedSplit([train_split(store), select])


def count_rows(split: AnySplit) -> int:
    """Each may have several windows."""
    return int(pc.count_distinct(split.index_columns(["row"])["row"]).as_py())


def labels_of(split: AnySplit) -> np.ndarray:
    """labels_ND of every window."""
    return np.stack(split.index_columns(["label"])["label"].to_numpy())


def role_index(store: Store, role: Role | str, columns: Sequence[str] = SCORING) -> pa.Table:
    """What scoring needs of every window of a role, all its splits one after the other."""
    return pa.concat_tables([split.index_columns(columns) for split in store.splits(role)])


def doubts(store: Store) -> list[str]:
    """Why scores may say too much: hidden states of a row that the encoder was trained on know its answer."""
    found = []
    for role in HELD:
        splits = store.splits(role)
        if seen := sum(split.seen for split in splits):
            windows = sum(split.windows for split in splits)
            found.append(
                f"The encoder was fine-tuned on {seen:,} of the {windows:,} windows of {role}: "
                "scores on them are too good."
            )
    return [*found, *doubts_of_rows(store)]


def head_shape(store: Store) -> HeadShape:
    """What this store fixes for every head on it."""
    layers, width = store.manifest.shape
    return HeadShape(
        layers=layers,
        width=width,
        outputs=store.task.outputs,
        per_token=store.task.per_token,
        tokens=1 if store.manifest.one_token else store.task.max_length,
    )
