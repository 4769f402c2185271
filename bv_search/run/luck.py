"""Luck: how much of the score of the best of many is chance, which other rows would not repeat."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from bv_search.run.leaderboard import best
from bv_search.run.trial import TrialRecord


@dataclass(frozen=True, kw_only=True)
class Luck:
    score: float  # of the best, on select
    share: float  # of it, that is luck
    heads: int  # that it is the best of

    @classmethod
    def of(cls, records: Iterable[TrialRecord]) -> Self | None:
        """By the bootstrap: what the best on drawn rows scores there above what it scores on all of them.

        That is no upper bound: of 40 heads that were equally good it saw .62 of their best one's luck
        (simulated). Finalists are no others than the trials that they were made of. None where nothing
        was drawn.
        """
        ranked = [record for record in best(records) if record.of is None and record.draws]
        if not ranked:
            return None
        scores_K = np.array([record.score for record in ranked])
        draws_SK = np.array([record.draws for record in ranked]).T
        best_S = draws_SK.argmax(axis=1)
        gained_S = draws_SK.max(axis=1) - scores_K[best_S]
        return cls(score=float(scores_K[0]), share=max(0.0, float(gained_S.mean())), heads=len(ranked))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        if self.heads == 1:
            return f"select {self.score:.4f}, of the only head"
        text = f"select {self.score:.4f}, of which about {self.share:.3f} is luck"
        return f"{text}: the best of {self.heads} heads"
