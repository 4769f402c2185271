"""What scan workers say that learn nothing: heads whose worth is made of their names."""

from collections.abc import Mapping, Sequence

import numpy as np
import xxhash
from safetensors.numpy import save

from bv_search.heads.config import HeadShape
from bv_search.scan.checks import Check
from bv_search.scan.outcome import Final, RoleAnswers, SegmentResult
from bv_search.scan.store_view import head_shape
from bv_search.store.layout import MICRO_BATCH
from bv_search.store.store import Store

DRAWS = 400  # scores on other rows, as many as a head carries
WEIGHTS = save({"weight": np.zeros(2048, np.float32)})


def made_up_segment(trial: str, stop: int, state: bytes, *, scored: bool) -> SegmentResult:
    rows, score = stop * MICRO_BATCH, worth(trial, stop)
    found = Check(position=stop, rows=rows, score=score, loss=1.0 - score)
    return SegmentResult(trial=trial, position=stop, rows=rows, state=state, found=found if scored else None)


class MadeUpFinals:
    """Of heads on a store, or on none."""

    def __init__(self, shape: HeadShape, ids: Mapping[str, Sequence[str]]) -> None:
        self._shape, self._ids = shape, ids

    @classmethod
    def of(cls, store: Store) -> "MadeUpFinals":
        ids = {
            role: [name for split in store.splits(role) for name in split.index["id"].to_pylist()]
            for role in ("select", "report")
        }
        return cls(head_shape(store), ids)

    def make(self, trial: str) -> Final:
        return Final(
            trial=trial,
            shape=self._shape,
            weights=WEIGHTS,
            copies=1,
            parameters=len(WEIGHTS) // 4,
            select=self._answers(trial, "select"),
            report=self._answers(trial, "report"),
            train=None,
        )

    def _answers(self, trial: str, role: str) -> RoleAnswers:
        score, ids = worth(trial), list(self._ids.get(role, ()))
        return RoleAnswers(
            ids=ids,
            logits=np.zeros((len(ids), self._shape.outputs), np.float32),
            loss=1.0 - score,
            score=score,
            interval=(score, score) if role == "report" else None,
            metrics={"accuracy": score},
            draws=[score] * DRAWS if role == "select" and ids else (),
        )


def worth(trial: str, position: int | None = None) -> float:
    """Some heads are better than others, and what is seen of that on their way is half chance."""
    own = _chance(trial)
    return own if position is None else (2 * own + _chance(f"{trial} {position}")) / 3


def _chance(text: str) -> float:
    """From 0 to 1, the same for the same text."""
    return float(xxhash.xxh3_64_intdigest(text.encode()) / 2**64)
