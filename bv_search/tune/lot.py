"""The lot: which trials are under way, and which of them are parked. Searcher and scheduler share it."""

from dataclasses import dataclass, field

from bv_search.tune.thin_trial import News

PROCESSES = 1  # trials that hold a process at a time: one serves a hundred in a second, and starts in one


@dataclass
class Lot:
    """A trial is in the lot from its suggestion to its end."""

    capacity: int  # trials under way at once: a pack for every worker
    live: set[str] = field(default_factory=set)
    parked: set[str] = field(default_factory=set)
    orphans: set[str] = field(default_factory=set)  # their process died: they begin again, where they stand
    news: dict[str, News] = field(default_factory=dict)  # that their trials have not reported yet
    exhausted: bool = False  # no trial will be suggested any more

    @property
    def moving(self) -> int:
        """Trials that hold a process, or wait for one."""
        return len(self.live) - len(self.parked)

    @property
    def has_room(self) -> bool:
        return len(self.live) < self.capacity

    @property
    def admits(self) -> bool:
        """Whether another trial may begin now: a searcher hears of all of a pack before it is asked."""
        is_told = self.live.isdisjoint(self.news)
        return is_told and not self.exhausted and self.has_room and self.moving < PROCESSES

    @property
    def is_over(self) -> bool:
        """Told any earlier, Tune would end the process that the parked trials are woken in."""
        return self.exhausted and not self.live

    @property
    def is_still(self) -> bool:
        """Nothing moves, and nothing more can begin: what waits will not become more."""
        return self.moving == 0 and not self.news and (self.exhausted or not self.has_room)
