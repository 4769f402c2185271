"""Lanes: on a CPU, the heads of a pack run in groups beside each other, each on cores of its own.

Threads inside of an operation wait for each other at the end of every one, thousands of times a micro-batch;
heads wait for each other once. On two cores, packs of adapters went 1.3 times as fast.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import Self, TypeVar

import torch

from bv_search.heads.head import Head

Item = TypeVar("Item")
Result = TypeVar("Result")


class Lanes:
    """`groups` are the numbers of the heads of each lane; `run` does some work on all lanes at once."""

    def __init__(self, heads: Sequence[Head], device: torch.device) -> None:
        threads = torch.get_num_threads() if device.type == "cpu" else 1
        self.groups = share_out(heads, threads)
        self._threads_of_each = threads // len(self.groups)
        self._pool: ThreadPoolExecutor | None = None

    def __enter__(self) -> Self:
        if len(self.groups) > 1:
            self._pool = ThreadPoolExecutor(
                len(self.groups), initializer=torch.set_num_threads, initargs=(self._threads_of_each,)
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def run(self, work: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
        """The work on the item of each lane."""
        if self._pool is None:
            return [work(item) for item in items]
        return list(self._pool.map(work, items))


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
    return " ".join(type(branch).__name__ for branch in head.typed_branches())


def _cost(head: Head) -> float:
    """Near enough: features that it makes of a window; each costs about as much to make as any other."""
    tokens = (head.shape.tokens or 1) if head.reads_all_tokens else 1
    return float(tokens * sum(branch.kept(1) for branch in head.typed_branches()))
