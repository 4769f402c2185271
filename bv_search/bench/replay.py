"""A search replayed on a table: the searchers, the packing and the halving of `tune`, and no training.

A generation of heads is under way at once. They go in packs from rung to rung, the furthest first, and the
searcher hears of a whole pack before it is asked again: as `tune` does it with one worker.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count

from bv_search.bench.table import Learned, Table
from bv_search.tune.halving import Halving
from bv_search.tune.packing import Order, Packer, Rungs, WaitingHead
from bv_search.tune.searchers import Searcher

PACK = 32  # heads at most


@dataclass(frozen=True, kw_only=True)
class Moment:
    """A head has come to a stop: what was spent until then, and what was found.

    Were the time up now, heads would stay as they are: any may be the best on select. What they are worth on
    report is known at their ends alone.
    """

    trials: int  # that are over
    rows: int  # of all heads; those of a pack count one after another
    seconds: float
    select: float | None  # the best score of any head where it stands
    best: Learned | None  # on select, of those at their ends


class Replay:
    def __init__(self, table: Table, rungs: Rungs, searcher: Searcher, generation: int) -> None:
        self._table, self._searcher, self._generation = table, searcher, generation
        self._halving, self._pool = Halving(rungs), Packer(rungs, PACK)
        self._numbers = count(1)
        self._live: dict[str, Learned] = {}
        self._now = Moment(trials=0, rows=0, seconds=0.0, select=None, best=None)

    def run(self) -> Iterator[Moment]:
        """As long as the searcher has points, and is asked to go on."""
        while True:
            self._begin()
            orders = self._pool.next_round(1)
            if not orders:
                return
            for order in orders:
                yield from self._train(order)

    def _begin(self) -> None:
        while len(self._live) < self._generation:
            trial = f"{next(self._numbers):04d}"
            draws = self._searcher.ask(trial)
            if draws is None:
                return
            self._live[trial] = learned = self._table.of(self._searcher.space.config(draws))
            self._pool.park(WaitingHead(trial=trial, config=learned.trial, position=0))

    def _train(self, order: Order) -> Iterator[Moment]:
        """One segment. All that came to a stop of theirs are heard before any is judged."""
        heads = {head: self._live[head.trial] for head in order.heads}
        rows = [learned.rows(head.position, order.stop) for head, learned in heads.items()]
        self._now = replace(self._now, seconds=self._now.seconds + self._table.seconds(rows))
        for head, learned in heads.items():
            done = learned.ends_by(order.stop)
            if not learned.diverged and (done or head.trial in order.score):
                position, found = learned.reached(order.stop), learned.worth(order.stop)
                self._halving.hear(head.trial, head.config, found, position=position, done=done)
        for (head, learned), read in zip(heads.items(), rows, strict=True):
            self._now = replace(self._now, rows=self._now.rows + read)
            if head.trial in order.score or learned.ends_by(order.stop):
                self._judge(head, learned, order.stop)
                yield self._now
            else:
                self._pool.park(replace(head, position=order.stop))

    def _judge(self, head: WaitingHead, learned: Learned, stop: int) -> None:
        now, done = self._now, learned.ends_by(stop)
        score = None if learned.diverged else learned.worth(stop).score
        if score is not None and (now.select is None or score > now.select):
            now = replace(now, select=score)
        if not done and self._halving.goes_on(head.trial, stop):
            self._pool.park(replace(head, position=stop))
        else:
            del self._live[head.trial]
            self._searcher.tell(head.trial, score)
            now = replace(now, trials=now.trials + 1)
        if done and score is not None and (now.best is None or learned.end.rank > now.best.end.rank):
            now = replace(now, best=learned)
        self._now = now
