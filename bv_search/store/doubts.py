"""Doubts: what to know of a store's rows before scores on them are believed."""

from collections.abc import Collection, Iterator

import numpy as np

from bv_search.store.store import Store
from bv_search.tasks.cut import doubt_of_cut
from bv_search.tasks.row import Role

HELD = (Role.SELECT, Role.REPORT)  # what heads are not trained on


def doubts_of_rows(store: Store) -> Iterator[str]:
    """Whatever encoder read them: texts that stand on both sides, and a cut that large groups spoiled."""
    known = _texts(store, Role.TRAIN)
    for role in HELD:
        texts = _texts(store, role)
        if shared := int(np.isin(texts, known).sum()):
            yield (
                f"Training rows share their texts with {shared:,} of the {len(texts):,} windows of {role}: "
                "scores on them may be too good."
            )
    if store.splits(Role.SELECT):
        doubt = doubt_of_cut("select", _groups(store, Role.TRAIN), _groups(store, Role.SELECT))
        if doubt is not None:
            yield doubt


def _texts(store: Store, role: Role) -> np.ndarray:
    """What every window is a part of, by number."""
    columns = [split.index_columns(["text"])["text"].to_numpy() for split in store.splits(role)]
    return np.concatenate([np.empty(0, np.uint64), *columns])


def _groups(store: Store, role: Role) -> Collection[int]:
    """The group of every row, which may have several windows."""
    found: dict[str, int] = {}
    for split in store.splits(role):
        columns = split.index_columns(["row", "group"])
        found.update(zip(columns["row"].to_pylist(), columns["group"].to_pylist(), strict=True))
    return found.values()
