"""Scan workers that compute nothing: they say when they would have been done.

A call is a row of stretches, one after another: heads' states come over the driver's network, rows are read
from the node cache or from the object store while heads learn from them, and what was learned goes back. A
stretch goes as fast as the slowest of what it needs, and others that need the same share it. Whenever one
ends, all rates are new.
"""

from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import inf

from bv_search.bench.cluster_rates import JUDGING, ClusterRates
from bv_search.bench.cluster_work import ClusterWork
from bv_search.bench.made_up import MadeUpFinals, made_up_segment
from bv_search.scan.outcome import Final, SegmentResult
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MICRO_BATCH
from bv_search.tune.errand import Scoring
from bv_search.tune.packing import Order
from bv_search.tune.workers import Call, EndedCall

CHUNKS = 512  # of the training rows, each of which a node cache has or lacks
LEARNING, DISK, NETWORK, STORE = "learning", "node disk", "network", "object store"
DRIVER_NETWORK, DRIVER = "driver's network", "driver"
STRAGGLERS, IDLE = "stragglers", "too few heads"
LIMITS = (LEARNING, DISK, NETWORK, STORE, DRIVER_NETWORK, DRIVER, STRAGGLERS, IDLE)
"""What a worker's time goes to, or for what it waits."""


@dataclass(kw_only=True)
class Stretch:
    left: float  # rows, or bytes of states
    place: str  # where they come from: DISK, STORE or DRIVER_NETWORK
    first: float = -1.0  # row; what begins at one place is read at one time, and once a machine
    learning: float = inf  # rows a second that heads can take


@dataclass(kw_only=True)
class _Running:
    call: Call
    machine: int
    stretches: deque[Stretch]
    begun: float
    rate: float = 0.0
    limit: str = LEARNING


@dataclass(kw_only=True)
class MachineCache:
    """Of a machine: the least recently used goes, where all is full."""

    room: int  # chunks
    _held: OrderedDict[int, None] = field(default_factory=OrderedDict)

    def read(self, chunk: int) -> bool:
        """Whether it was there; it is now."""
        there = chunk in self._held
        self._held[chunk] = None
        self._held.move_to_end(chunk)
        while len(self._held) > self.room:
            self._held.popitem(last=False)
        return there


class SimulatedWorkers:
    """Behind the interface of `tune/workers.py`, in a time of their own."""

    def __init__(self, size: int, rates: ClusterRates, work: ClusterWork) -> None:
        self.size = size
        self.now = 0.0
        self.spent: dict[str, float] = defaultdict(float)  # worker seconds, by what they went to
        self._rates, self._work = rates, work
        self._chunk_rows = work.windows / CHUNKS
        room = int(rates.cache / work.bytes * CHUNKS)
        self._caches = [MachineCache(room=room) for _ in range(rates.machines(size))]
        self._free = deque(number % len(self._caches) for number in range(size))
        self._running: list[_Running] = []
        self._finals = MadeUpFinals(work.shape, {})
        self._used = 0  # workers that had a call since all were idle

    @property
    def idle(self) -> int:
        return len(self._free)

    @property
    def running(self) -> list[Call]:
        return [each.call for each in self._running]

    def capacity(self, configs: Sequence[TrialConfig]) -> int:
        raise AssertionError("a simulation is told what fits")

    def expect(self, calls: int) -> None:
        """All are there."""

    def submit(self, call: Call) -> None:
        machine = self._free.popleft()
        if not self._running:
            self._used = 0
        self._used += 1
        stretches = deque(stretch for stretch in self._stretches(call, machine) if stretch.left > 0)
        self._running.append(_Running(call=call, machine=machine, stretches=stretches, begun=self.now))

    def finished(self, *, wait: float | None) -> list[EndedCall]:
        """Time goes on until one of them ends."""
        while self._running:
            if ended := [each for each in self._running if not each.stretches]:
                return [self._end(each) for each in ended]
            self._go_on()
        return []

    def wait_for(self, what: str, seconds: float) -> None:
        """All of them, between two rounds."""
        assert not self._running, "they are at something"
        self.spent[what] += self.size * seconds
        self.now += seconds

    def _go_on(self) -> None:
        """To the end of the next stretch. Idle workers wait for their round, or had no call in it."""
        seconds = self._until_next()
        for each in self._running:
            each.stretches[0].left -= each.rate * seconds
            if each.stretches[0].left <= 1e-9 * each.rate:
                each.stretches.popleft()
            self.spent[each.limit] += seconds
        used = min(self._used, self.size)
        self.spent[STRAGGLERS] += seconds * (used - len(self._running))
        self.spent[IDLE] += seconds * (self.size - used)
        self.now += seconds

    def _until_next(self) -> float:
        self._share()
        return min(each.stretches[0].left / each.rate for each in self._running)

    def _share(self) -> None:
        """Rates of all, by how many are at the same."""
        at = Counter(each.stretches[0].place for each in self._running)
        streams = {self._stream(each) for each in self._running}
        here = Counter((machine, place) for machine, place, _ in streams)
        remote = sum(place == STORE for _, place, _ in streams)
        for each in self._running:
            stretch = each.stretches[0]
            beside = here[each.machine, stretch.place]
            ways = {LEARNING: stretch.learning}
            if stretch.place == DISK:
                ways[DISK] = self._rates.disk / beside / self._work.row_bytes
            elif stretch.place == STORE:
                ways[NETWORK] = self._rates.network / beside / self._work.row_bytes
                ways[STORE] = self._rates.object_store / remote / self._work.row_bytes
            else:
                ways[DRIVER_NETWORK] = self._rates.network / at[DRIVER_NETWORK]
            each.limit = min(ways, key=lambda way: ways[way])
            each.rate = ways[each.limit]

    def _stream(self, running: _Running) -> tuple[int, str, float]:
        """Of workers of a machine that began at one row, one reads for all; without a cache, each does."""
        stretch = running.stretches[0]
        alone = stretch.place == STORE and not self._rates.cache
        return running.machine, stretch.place, float(id(running)) if alone else stretch.first

    def _end(self, running: _Running) -> EndedCall:
        self._running.remove(running)
        self._free.append(running.machine)
        seconds = self.now - running.begun
        return EndedCall(call=running.call, result=self._result(running.call.about), seconds=seconds)

    def _result(self, work: Order | Scoring) -> list[SegmentResult] | list[Final]:
        if isinstance(work, Scoring):
            return [self._finals.make(trial) for trial in work.trials]
        return [made_up_segment(trial, work.stop, b"", scored=trial in work.score) for trial in work.trials]

    def _stretches(self, call: Call, machine: int) -> list[Stretch]:
        """What a call has to read and to send, in turn."""
        work, size = call.about, self._work
        assert isinstance(work, Order | Scoring), "a simulated search has no ladder, and no finale"
        if isinstance(work, Scoring):
            heads = len(work.trials)
            return [
                _states(heads * size.weight_bytes),
                *self._judge(size.select + size.report, machine, heads),
                _states(heads * (size.weight_bytes + size.answer_bytes)),
            ]
        heads, position = len(work.heads), work.heads[0].position
        return [
            _states(heads * size.state_bytes if position else 0.0),
            *self._learn(position * MICRO_BATCH, work.stop * MICRO_BATCH, machine, heads),
            *self._judge(size.select, machine, len(work.score)),
            _states(heads * size.state_bytes),
        ]

    def _learn(self, start: int, stop: int, machine: int, heads: int) -> list[Stretch]:
        """Rows of train, pass by pass."""
        found, windows = [], self._work.windows
        while start < stop:
            end = min(stop, (start // windows + 1) * windows)
            first = start % windows
            found += self._read(first, first + end - start, machine, self._rates.head_rows / heads)
            start = end
        return found

    def _judge(self, rows: int, machine: int, heads: int) -> list[Stretch]:
        """Rows of select and report stand behind those of train."""
        if not heads:
            return []
        start = self._work.windows
        return self._read(start, start + rows, machine, self._rates.head_rows / heads / JUDGING)

    def _read(self, start: int, stop: int, machine: int, learning: float) -> list[Stretch]:
        """Chunk by chunk from the node cache, or from the object store."""
        found: list[Stretch] = []
        at = float(start)
        while at < stop:
            chunk = int(at / self._chunk_rows + 1e-9)
            end = min(float(stop), (chunk + 1) * self._chunk_rows)
            place = DISK if self._caches[machine].read(chunk) else STORE
            if found and found[-1].place == place:
                found[-1].left += end - at
            else:
                found.append(Stretch(left=end - at, place=place, first=at, learning=learning))
            at = end
        return found


def _states(size: float) -> Stretch:
    return Stretch(left=size, place=DRIVER_NETWORK)
