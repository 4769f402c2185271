"""Scan workers of a real cluster that sleep as long as a simulation says that they work."""

import time
from collections.abc import Collection, Sequence
from typing import Any

import ray

from bv_search.bench.cluster_rates import JUDGING
from bv_search.bench.cluster_work import ClusterWork
from bv_search.bench.made_up import MadeUpFinals, made_up_segment
from bv_search.scan.outcome import Start
from bv_search.store.layout import MICRO_BATCH
from bv_search.store.store import Store
from bv_search.tune.ray.workers import ScanWorker

HEAD_ROWS = 30_000.0
WORK = ClusterWork(
    about="a small store",
    windows=2000,
    select=500,
    report=500,
    tokens=1,
    layers=2,
    width=8,
    space_name="classification",
    one_token=True,
)


class PacedWorker(ScanWorker):
    """Its states say where their heads stand, and nothing else."""

    def start(self) -> str:
        self._finals = MadeUpFinals.of(Store.open(self._inputs.store))
        return str(ray.get_runtime_context().get_node_id())

    def segment(
        self, heads: Sequence[bytes | Start], stop: int, score: Collection[str], seconds: float | None
    ) -> list[Any]:
        known = [_known(head) for head in heads]
        _sleep(len(heads) * (stop - known[0][1]) * MICRO_BATCH + len(score) * WORK.select * JUDGING)
        return [
            made_up_segment(trial, stop, f"{trial} {stop}".encode(), scored=trial in score)
            for trial, _ in known
        ]

    def solve(self, rungs: Sequence[Start]) -> list[Any]:
        return [self._finals.make(rung.trial) for rung in rungs]

    def final(self, states: Sequence[bytes]) -> list[Any]:
        _sleep(len(states) * (WORK.select + WORK.report) * JUDGING)
        return [self._finals.make(_known(state)[0]) for state in states]


def _known(head: bytes | Start) -> tuple[str, int]:
    """A trial, and where it stands."""
    if isinstance(head, Start):
        return head.trial, 0
    trial, position = head.decode().split()
    return trial, int(position)


def _sleep(head_rows: float) -> None:
    time.sleep(head_rows / HEAD_ROWS)
