"""How large the heads of a space are on a store, and which of them may be proposed."""

import sys
from functools import cache

import numpy as np

from bv_search.errors import SpaceError
from bv_search.heads.config import HeadConfig, HeadShape
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import Draws, Space

SAMPLE = 256  # points inside of a space


class Sizes:
    """Parameters are of one copy of a head. Only where a space has a limit, torch is needed to count them."""

    def __init__(self, space: Space, shape: HeadShape) -> None:
        self.space = space
        self._shape = shape

    def of(self, draws: Draws) -> int:
        return self.of_head(TrialConfig.from_json(self.space.config(draws)).head)

    def of_head(self, head: HeadConfig) -> int:
        return count(head, self._shape)

    def fit(self, draws: Draws) -> bool:
        """Whether a head may be proposed."""
        limit = self.space.max_parameters
        return limit is None or self.of(draws) <= limit

    def check(self) -> None:
        """Something may be."""
        if self.space.max_parameters is None:
            return
        smallest = min(map(self.of, self.space.probes()))
        if smallest > self.space.max_parameters:
            raise SpaceError(
                "has no head that small",
                where=self.space.name,
                expected=f"max_parameters of {smallest:,} or more, as its smallest head has on this store",
                found=f"{self.space.max_parameters:,}",
            )

    def planned(self) -> list[TrialConfig]:
        """What memory is planned for. Under a limit the largest head may be no corner of the space."""
        if self.space.max_parameters is None:
            return self.space.typed_corners()
        rng = np.random.default_rng(0)
        points = [*self.space.probes(), *(self.space.draw_at_random(rng) for _ in range(SAMPLE))]
        return [TrialConfig.from_json(self.space.config(draws)) for draws in points if self.fit(draws)]


@cache
def count(head: HeadConfig, shape: HeadShape) -> int:
    from bv_search.heads.head import count_parameters  # with torch, which a search does without

    try:
        return count_parameters(head, shape)
    except RuntimeError:  # more than torch can count
        return sys.maxsize
