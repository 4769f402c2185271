"""Folds: the rows in as many parts as a head has copies, each of which learns from all parts but its own.

What a copy says of its own part it says out of fold: of rows that it did not learn from. So train and select
together say what a head is worth, many times as many rows as select alone. Free of torch.

N windows that heads learn from.
"""

import struct
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import xxhash

from bv_search.scan.store_view import learned_split
from bv_search.store.store import Store
from bv_search.tasks.row import Role

NOBODY = -1  # no copy's own


@dataclass(frozen=True, kw_only=True, eq=False)
class Folds:
    count: int
    of_N: np.ndarray  # the fold of every window
    judged: np.ndarray  # numbers of the windows that heads are judged by, in order

    @classmethod
    def of(cls, store: Store, count: int) -> Self:
        """Rows of train that the encoder was fine-tuned on judge nobody: it knows what they say."""
        index = learned_split(store, folds=count).index_columns(["group", "role", "seen"])
        is_select_N = index["role"].to_numpy() == str(Role.SELECT)
        return cls(
            count=count,
            of_N=fold_groups(index["group"].to_numpy(), store.manifest.seed, count),
            judged=np.flatnonzero(is_select_N | ~index["seen"].to_numpy()),
        )

    @property
    def speakers_N(self) -> np.ndarray:
        """The copy that speaks of every window; of those that judge nobody, none does."""
        speakers_N = np.full(len(self.of_N), NOBODY)
        speakers_N[self.judged] = self.of_N[self.judged]
        return speakers_N

    def judged_train(self, store: Store) -> np.ndarray:
        """Numbers of the windows of train that heads are judged by: they stand before those of select."""
        select = sum(split.windows for split in store.splits(Role.SELECT))
        return self.judged[self.judged < len(self.of_N) - select]

    def first(self, windows: int) -> Self:
        """Of so many windows alone."""
        return replace(self, of_N=self.of_N[:windows], judged=self.judged[self.judged < windows])

    def among(self, windows: np.ndarray) -> Self:
        """The same, judging by these windows alone, as far as they judge anybody."""
        return replace(self, judged=self.judged[np.isin(self.judged, windows)])


def fold_groups(groups_N: np.ndarray, seed: int, count: int) -> np.ndarray:
    """The fold of every window: its group and the store's seed decide, and no other window does."""
    groups_G, places_N = np.unique(groups_N, return_inverse=True)
    drawn = (xxhash.xxh3_64_intdigest(struct.pack("<qQ", seed, group)) for group in groups_G.tolist())
    folds_G = np.fromiter((number % count for number in drawn), np.int64, len(groups_G))
    folds_N: np.ndarray = folds_G[places_N]
    return folds_N
