"""A round: heads that go to their next stops at one time. None of them is judged before all are in.

So who goes on depends neither on which worker was the first, nor on when a search was broken off.
"""

from collections import deque
from collections.abc import Mapping, Sequence

from bv_search.scan.checks import Check
from bv_search.tune.pool import Order


class Round:
    """`found` is what is known of heads that are in already, where an earlier session began the round."""

    def __init__(self, orders: Sequence[Order] = (), found: Mapping[str, Check] | None = None) -> None:
        self._orders = deque(orders)
        self._away = {trial for order in orders for trial in order.trials}
        self.found: dict[str, Check] = dict(found or {})  # of those that came to a stop of theirs
        self.failures: dict[str, str] = {}

    @property
    def is_in(self) -> bool:
        return not self._away

    @property
    def has_orders(self) -> bool:
        """That wait for a worker."""
        return bool(self._orders)

    def next_order(self) -> Order:
        return self._orders.popleft()

    def retry(self, *orders: Order) -> None:
        """In place of one that was lost."""
        self._orders.extendleft(reversed(orders))

    def give_up(self) -> None:
        """Whatever was not sent is not part of it any more."""
        self._away.difference_update(*(order.trials for order in self._orders))
        self._orders.clear()

    def came(self, trial: str, found: Check | None) -> None:
        """Without a worth it is on its way, at the end of a neighbour."""
        self._away.discard(trial)
        if found is not None:
            self.found[trial] = found

    def failed(self, trial: str, reason: str) -> None:
        self._away.discard(trial)
        self.failures[trial] = reason
