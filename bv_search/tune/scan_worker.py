"""The actor around a scanner."""

import resource
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import ray

from bv_search.scan.outcome import Finalist, Start
from bv_search.scan.trial import TrialConfig
from bv_search.source.choice import Rates


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What scan workers read."""

    store: str
    source: str  # store or live
    window: int | None  # bytes of blocks that each keeps in memory
    folds: int  # copies of each head


class ScanWorker:
    """Owns a GPU, or the cores that the search leaves it, from before the search starts to its end."""

    def __init__(self, reading: Reading, threads: int) -> None:
        self._reading = reading
        self._threads = threads

    def start(self) -> None:
        """Open what it reads: a failure has then its own line, which one of a constructor loses in Ray."""
        from bv_search.scan.scanner import Scanner  # with torch: slow, and needed only here

        reading = self._reading
        self._scanner = Scanner(
            reading.store,
            source=reading.source,
            window=reading.window,
            folds=reading.folds,
            threads=self._threads,
        )

    def machine(self) -> str:
        return str(ray.get_runtime_context().get_node_id())

    def capacity(self, configs: Sequence[TrialConfig], workers: int) -> int:
        return self._scanner.capacity(configs, workers)

    def rates(self) -> Rates:
        return self._scanner.rates()

    def peak_memory(self) -> int:
        """Bytes, pages of the store that it maps among them."""
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    def segment(
        self,
        heads: Sequence[bytes | Start],
        stop: int,
        score: Collection[str],
        seconds: float | None,
    ) -> list[Any]:
        return self._scanner.segment(heads, stop, score=score, seconds=seconds)

    def solve(self, rungs: Sequence[Start]) -> list[Any]:
        return self._scanner.solve(rungs)

    def final(self, states: Sequence[bytes]) -> list[Any]:
        return self._scanner.final(states)

    def finale(self, finalists: Sequence[Finalist]) -> list[Any]:
        return self._scanner.finale(finalists)
