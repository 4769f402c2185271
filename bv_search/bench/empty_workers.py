"""Scan workers that learn nothing: they answer at once, so that what a search takes is the driver's."""

from collections import deque
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from safetensors.numpy import save

from bv_search.bench.cluster_workers import chance, made_up_segment
from bv_search.scan.outcome import Final, Finalist, RoleAnswers, SegmentResult, Start
from bv_search.scan.store_view import head_shape
from bv_search.scan.trial import TrialConfig
from bv_search.store.store import Store
from bv_search.tune.workers import Call, EndedCall

DRAWS = 400  # scores on other rows, as many as a head carries
STATE_BYTES = 8 << 10  # of a small head between two segments


class EmptyWorkers:
    """Any number of them, behind the interface of `tune/workers.py`. Scores are made of names."""

    def __init__(self, store: Store, size: int, room: int) -> None:
        self.size = size
        self._room = room
        self._shape = head_shape(store)
        self._weights = save({"weight": np.zeros(STATE_BYTES // 4, np.float32)})
        self._ids = {
            role: [name for split in store.splits(role) for name in split.index["id"].to_pylist()]
            for role in ("select", "report")
        }
        self._running: deque[Call] = deque()

    @property
    def idle(self) -> int:
        return self.size - len(self._running)

    @property
    def running(self) -> list[Call]:
        return list(self._running)

    def submit(self, call: Call) -> None:
        assert self.idle, "nobody is there to do it"
        self._running.append(call)

    def finished(self, *, wait: float | None) -> list[EndedCall]:
        calls, self._running = self._running, deque()
        return [
            EndedCall(call=call, result=getattr(self, call.method)(*call.arguments), seconds=0.0)
            for call in calls
        ]

    def capacity(self, configs: Sequence[TrialConfig]) -> int:
        return self._room

    def segment(
        self, heads: Sequence[bytes | Start], stop: int, score: Collection[str], seconds: float | None
    ) -> list[SegmentResult]:
        return [
            made_up_segment(name, stop, name.encode().ljust(STATE_BYTES), scored=name in score)
            for name in map(_name, heads)
        ]

    def solve(self, rungs: Sequence[Start]) -> list[Final]:
        return [self._final(rung.trial) for rung in rungs]

    def final(self, states: Sequence[bytes]) -> list[Final]:
        return [self._final(_name(state)) for state in states]

    def finale(self, finalists: Sequence[Finalist]) -> list[Any]:
        raise AssertionError("a search of empty segments has no finale")

    def _final(self, trial: str) -> Final:
        return Final(
            trial=trial,
            shape=self._shape,
            weights=self._weights,
            copies=1,
            parameters=STATE_BYTES // 4,
            select=self._answers(trial, "select"),
            report=self._answers(trial, "report"),
            train=None,
        )

    def _answers(self, trial: str, role: str) -> RoleAnswers:
        worth, ids = chance(f"{trial} {role}"), self._ids[role]
        return RoleAnswers(
            ids=ids,
            logits=np.zeros((len(ids), self._shape.outputs), np.float32),
            loss=1.0 - worth,
            score=worth,
            interval=(worth, worth) if role == "report" else None,
            metrics={"accuracy": worth},
            draws=[worth] * DRAWS if role == "select" else (),
        )


def _name(head: bytes | Start) -> str:
    return head.trial if isinstance(head, Start) else head.decode().strip()
