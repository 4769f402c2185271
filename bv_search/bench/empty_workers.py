"""Scan workers that learn nothing: they answer at once, so that what a search takes is the driver's."""

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

from bv_search.bench.made_up import MadeUpFinals, made_up_segment
from bv_search.scan.outcome import Final, Finalist, SegmentResult, Start
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from bv_search.tune.workers import Call, EndedCall

STATE_BYTES = 8 << 10  # of a small head between two segments


class EmptyWorkers:
    """Any number of them, behind the interface of `tune/workers.py`."""

    def __init__(self, store: Store, size: int, room: int) -> None:
        self.size = size
        self._room = room
        self._finals = MadeUpFinals.of(store)
        self._running: deque[Call] = deque()

    @property
    def idle(self) -> int:
        return self.size - len(self._running)

    @property
    def running(self) -> list[Call]:
        return list(self._running)

    def expect(self, calls: int) -> None:
        """All are there."""

    def submit(self, call: Call) -> None:
        assert self.idle, "nobody is there to do it"
        self._running.append(call)

    def finished(self, *, wait: float | None) -> list[EndedCall]:
        """One by one, as others end: what all of them bring at once would be the driver's memory."""
        if not self._running:
            return []
        call = self._running.popleft()
        return [EndedCall(call=call, result=getattr(self, call.method)(*call.arguments), seconds=0.0)]

    def capacity(self, configs: Sequence[TrialConfig]) -> int:
        return self._room

    def segment(
        self, heads: Sequence[bytes | Start], stop: int, score: Collection[str], seconds: float | None
    ) -> list[SegmentResult]:
        """A head's state is its name."""
        return [
            made_up_segment(name, stop, name.encode().ljust(STATE_BYTES), scored=name in score)
            for name in map(_name, heads)
        ]

    def solve(self, rungs: Sequence[Start]) -> list[Final]:
        return [self._finals.make(rung.trial) for rung in rungs]

    def final(self, states: Sequence[bytes]) -> list[Final]:
        return [self._finals.make(_name(state)) for state in states]

    def finale(self, finalists: Sequence[Finalist]) -> list[Any]:
        raise AssertionError("a search of empty segments has no finale")


def _name(head: bytes | Start) -> str:
    return head.trial if isinstance(head, Start) else head.decode().strip()
