"""Mean and deviation of every feature over the stored tokens of the training rows.

L channels, T tokens of a block back to back, P of them in a piece, H width.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from bv_search.errors import StoreError
from bv_search.store.block import REPAIR
from bv_search.store.dtype import spacing, widen

PIECE_TOKENS = 128
"""Of one channel, widened at a time: a block is never held in float64, and a piece stays in the cache."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Moments:
    """Of some tokens, in float64."""

    count: int  # of tokens
    mean_LH: np.ndarray  # of each feature
    square_LH: np.ndarray  # the sum of its squared deviations from the mean

    @classmethod
    def of(cls, hidden_LTH: np.ndarray, dtype: str) -> "Moments":
        """Of a block in stored form. Equal blocks give equal bits, whatever computes them."""
        channels = [_of_channel(layer_TH, dtype) for layer_TH in hidden_LTH]
        return cls(
            count=hidden_LTH.shape[1],
            mean_LH=np.concatenate([each.mean_LH for each in channels]),
            square_LH=np.concatenate([each.square_LH for each in channels]),
        )

    def merge(self, other: "Moments") -> "Moments":
        """Of the tokens of both (Chan et al.). Rounding depends on the order."""
        count = self.count + other.count
        apart_LH = other.mean_LH - self.mean_LH
        return Moments(
            count=count,
            mean_LH=self.mean_LH + apart_LH * (other.count / count),
            square_LH=self.square_LH
            + other.square_LH
            + apart_LH * apart_LH * (self.count * other.count / count),
        )

    def to_bytes(self) -> bytes:
        return _save({"count": np.array([self.count]), "mean": self.mean_LH, "square": self.square_LH})

    @classmethod
    def from_bytes(cls, data: bytes) -> "Moments":
        found = load(data)
        return cls(count=int(found["count"][0]), mean_LH=found["mean"], square_LH=found["square"])


def _of_channel(layer_TH: np.ndarray, dtype: str) -> Moments:
    starts = range(0, len(layer_TH), PIECE_TOKENS)
    return reduce(
        Moments.merge, (_of_piece(layer_TH[start : start + PIECE_TOKENS], dtype) for start in starts)
    )


def _of_piece(layer_PH: np.ndarray, dtype: str) -> Moments:
    """Plain sums, token by token: a library's product would round by its number of threads."""
    values_PH = widen(layer_PH, dtype, np.float64)
    mean_LH = values_PH.sum(axis=0, keepdims=True) / len(values_PH)
    values_PH -= mean_LH
    values_PH *= values_PH
    return Moments(count=len(values_PH), mean_LH=mean_LH, square_LH=values_PH.sum(axis=0, keepdims=True))


@dataclass(frozen=True, kw_only=True, eq=False)
class Statistics:
    """What standardises a feature: (x - mean) * scale. In float64; a constant one has deviation 0."""

    mean_LH: np.ndarray
    deviation_LH: np.ndarray

    @classmethod
    def of(cls, blocks: Iterable[Moments], dtype: str) -> "Statistics":
        """Of all blocks of the training rows, in their order.

        What varies by no more than the stored dtype rounds is constant: so is the embedding of a first token.
        """
        whole = reduce(Moments.merge, blocks)
        deviation_LH = np.sqrt(whole.square_LH / whole.count)
        constant_LH = deviation_LH <= spacing(whole.mean_LH, dtype)
        return cls(mean_LH=whole.mean_LH, deviation_LH=np.where(constant_LH, 0.0, deviation_LH))

    @property
    def scale_LH(self) -> np.ndarray:
        """1 / deviation, and 0 for constant features."""
        scale_LH = np.zeros_like(self.deviation_LH)
        np.divide(1.0, self.deviation_LH, out=scale_LH, where=self.deviation_LH > 0)
        return scale_LH

    def to_bytes(self) -> bytes:
        return _save({"mean": self.mean_LH, "deviation": self.deviation_LH})

    @classmethod
    def from_bytes(cls, data: bytes, shape: tuple[int, int], where: object) -> "Statistics":
        """`shape` is that of a token in the store, `where` the file."""
        found = _load(data, where)
        _require_forms(found, shape, where)
        if not np.isfinite([found["mean"], found["deviation"]]).all() or (found["deviation"] < 0).any():
            raise StoreError(
                "is damaged",
                where=where,
                expected="finite numbers, and no deviation below 0",
                found="others",
                do=REPAIR,
            )
        return cls(mean_LH=found["mean"], deviation_LH=found["deviation"])


def _load(data: bytes, where: object) -> dict[str, np.ndarray]:
    try:
        found: dict[str, np.ndarray] = load(data)
    except (SafetensorError, KeyError, ValueError) as error:
        raise StoreError("is damaged", where=where, expected="safetensors", found=error, do=REPAIR) from error
    return found


def _require_forms(found: dict[str, np.ndarray], shape: tuple[int, int], where: object) -> None:
    expected = [f"{name} float64 {shape}" for name in ("deviation", "mean")]
    forms = [f"{name} {values.dtype} {values.shape}" for name, values in sorted(found.items())]
    if forms != expected:
        raise StoreError(
            "holds other arrays",
            where=where,
            expected=", ".join(expected),
            found=", ".join(forms) or "none",
            do=REPAIR,
        )


def _save(arrays: dict[str, np.ndarray]) -> bytes:
    """safetensors takes whatever stands at an array's address: rows that lie apart come out wrong."""
    data: bytes = save({name: np.ascontiguousarray(values) for name, values in arrays.items()})
    return data
