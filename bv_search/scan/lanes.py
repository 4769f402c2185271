"""Lanes: on a CPU, the heads of a pack run in groups beside each other, each on cores of its own.

Threads inside of an operation wait for each other at the end of every one, thousands of times a micro-batch;
heads wait for each other once. On two cores, packs of adapters went 1.3 times as fast.

Deep heads amplify rounding, and an operation may round otherwise with other threads or beside other heads: so
those that take turns do it here too, each by itself on all cores, in a pack as alone. Their convolutions are
large enough for that: packs of them take as long as in lanes (measured on two cores: 0.99 to 1.01).
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

import torch

from bv_search.heads.head import Head

BRANCH = 50_000  # multiplications in the time that a branch takes whatever its size, for a window

Item = TypeVar("Item")
Result = TypeVar("Result")


class Lanes:
    """`groups` are the numbers of heads that go together; `run` does some work on each group.

    First come the lanes, which run at once, then the heads that take turns.
    """

    def __init__(self, heads: Sequence[Head], device: torch.device) -> None:
        self._threads = torch.get_num_threads() if device.type == "cpu" else 1
        beside = [k for k, head in enumerate(heads) if not head.takes_turns]
        lanes = share_out([heads[k] for k in beside], self._threads) if beside else []
        self._lanes = len(lanes)
        turns = [[k] for k, head in enumerate(heads) if head.takes_turns]
        self.groups = [*([beside[n] for n in lane] for lane in lanes), *turns]
        self._pool: ThreadPoolExecutor | None = None

    @property
    def has_turns(self) -> bool:
        return len(self.groups) > self._lanes

    def __enter__(self) -> Self:
        if self._lanes > 1:
            each = self._threads // self._lanes
            self._pool = ThreadPoolExecutor(self._lanes, initializer=torch.set_num_threads, initargs=(each,))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The work on the item of each group."""
        at_once = map if self._pool is None else self._pool.map
        done = list(at_once(work, items[: self._lanes]))
        return [*done, *map(work, items[self._lanes :])]


def share_out(heads: Sequence[Head], lanes: int) -> list[list[int]]:
    """Numbers of heads, in at most so many groups of about equal cost.

    Heads of a kind stand together: they run as one.
    """
    by_kind = sorted(range(len(heads)), key=lambda k: (_kind(heads[k]), k))
    costs = [_cost(heads[k]) for k in by_kind]
    groups: list[list[int]] = [[by_kind[0]]]
    count = min(lanes, len(heads))
    for place in range(1, len(heads)):
        middle = (sum(costs[:place]) + costs[place] / 2) / sum(costs)
        are_needed = len(heads) - place <= count - len(groups)  # or a group would stay empty
        if are_needed or middle * count >= len(groups):
            groups.append([])
        groups[-1].append(by_kind[place])
    return groups


def _kind(head: Head) -> str:
    return " ".join(str(branch.fuse_key) for branch in head.typed_branches())


def _cost(head: Head) -> float:
    """Near enough: multiplications for a window, and what any branch takes besides."""
    tokens = (head.shape.tokens or 1) if head.reads_all_tokens else 1
    return float(1 + sum(tokens * branch.work() + BRANCH for branch in head.typed_branches()))
