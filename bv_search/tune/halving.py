"""Successive halving, asynchronous (ASHA): of the heads that came to a rung, the best third goes on.

Ray's ASHA judges a head by those that reported before it. Heads of a pack come to a rung together: told best
first, it kept one of 32; told worst first, all. Here a rung knows all their scores before it judges one.
"""

from collections import defaultdict
from collections.abc import Collection
from math import ceil

from bv_search.scan.checks import Check
from bv_search.scan.trial import TrialConfig
from bv_search.tune.packing import REDUCTION, Rivals, Rungs

Place = tuple[Rivals, int]


class Halving:
    """Without rungs, every head goes on to its end."""

    def __init__(self, rungs: Rungs, spared: Collection[str] = ()) -> None:
        """`spared` go on to their end whatever they score, and are no measure for others."""
        self.rungs = rungs
        self._spared = frozenset(spared)
        self._rivals: dict[str, Rivals] = {}
        self._ranks: dict[Place, dict[str, tuple[float, float]]] = defaultdict(dict)

    def hear(self, trial: str, config: TrialConfig, found: Check, *, position: int, done: bool) -> None:
        """What a head is worth where it stands, before any that came there with it is judged.

        One that has come to its end is compared at all rungs that it need not go to, too.
        """
        if trial in self._spared:
            return
        rivals = self._rivals[trial] = self.rungs.rivals(config)
        for rung in self.rungs.of(config):
            if rung == position or (done and rung > position):
                self._ranks[rivals, rung][trial] = found.rank

    def goes_on(self, trial: str, position: int) -> bool:
        """Of equal heads all or none."""
        ranks = self._ranks.get((self._rivals[trial], position), {}) if trial in self._rivals else {}
        if trial not in ranks:
            return True
        better = sum(rank > ranks[trial] for rank in ranks.values())
        return better < ceil(len(ranks) / REDUCTION)
