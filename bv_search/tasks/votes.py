"""Votes: what a model says, in the form in which several models' sayings are combined.

Classes and spans are combined as probabilities; of spans they are over the tokens of a window, of start and
end separately. The result goes back to logits (its logarithm), so that the task's own rule for answers and
for no answer decides, as it does for one model. Values of a regression are combined as they are.
"""

from collections.abc import Sequence
from typing import Self

import numpy as np

from bv_search.tasks.task import Kind

RoleLogits = Sequence[np.ndarray] | np.ndarray
"""Of every window: (tokens, 2) each for spans; one array (N, C) otherwise, or (C,) each."""

TINY = np.float32(1e-30)


class Votes:
    """One model's say on every window, flat, so that combining is one operation over all windows.

    T tokens of all windows back to back for spans, else N windows.
    """

    def __init__(self, values: np.ndarray, lengths: np.ndarray | None) -> None:
        self.values = values  # (T, 2) or (N, C)
        self.lengths = lengths  # tokens of each window, for spans

    @classmethod
    def of(cls, logits: RoleLogits, kind: Kind) -> Self:
        if kind is Kind.SPAN:
            lengths = np.array([len(window) for window in logits], dtype=np.int64)
            return cls(_softmax_of_windows(np.concatenate(logits).astype(np.float32), lengths), lengths)
        flat = np.asarray(logits, dtype=np.float32)
        return cls(flat if kind is Kind.REGRESSION else _softmax(flat), None)

    def logits(self, kind: Kind) -> list[np.ndarray]:
        values = self.values if kind is Kind.REGRESSION else np.log(np.maximum(self.values, TINY))
        if self.lengths is None:
            return list(values)
        return np.split(values, np.cumsum(self.lengths)[:-1])

    def truth(self, labels_ND: np.ndarray, kind: Kind) -> np.ndarray:
        """truth_ND: what it gives to the truth of each window. That of a mean is the mean of its members'.

        The probability of the class, or of start and end; of a value, how far off it is.
        """
        if kind is Kind.REGRESSION:
            return np.asarray(self.values - labels_ND)
        at_ND = labels_ND.astype(np.int64)
        if self.lengths is None:
            return np.take_along_axis(self.values, at_ND, axis=1)
        starts_N = np.cumsum(self.lengths) - self.lengths
        return np.asarray(self.values[starts_N[:, None] + at_ND, [0, 1]])


def loss_of(truth_ND: np.ndarray, kind: Kind) -> float:
    """Of what is given to the truth: the mean squared error, or the mean logarithm of 1 / probability."""
    if kind is Kind.REGRESSION:
        return float(np.square(truth_ND).mean())
    return float(-np.log(np.maximum(truth_ND, TINY)).mean())


def are_probabilities(kind: Kind) -> bool:
    return kind is not Kind.REGRESSION


def mean_of(votes: Sequence[Votes], weights: Sequence[float] | None = None) -> Votes:
    weights = weights or [1.0] * len(votes)
    total = np.zeros_like(votes[0].values)
    for vote, weight in zip(votes, weights, strict=True):
        total += np.float32(weight) * vote.values
    return Votes(total / np.float32(sum(weights)), votes[0].lengths)


def mean_logits(said: Sequence[RoleLogits], kind: Kind) -> RoleLogits:
    """Of several copies of a head, as one array where its kind has one. What a single one says stays."""
    if len(said) == 1:
        return said[0]
    mean = mean_of([Votes.of(logits, kind) for logits in said]).logits(kind)
    return mean if kind is Kind.SPAN else np.stack(mean)


def _softmax(logits_NC: np.ndarray) -> np.ndarray:
    powers = np.exp(logits_NC - logits_NC.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _softmax_of_windows(logits_T2: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Softmax over the tokens of each window, start and end by themselves."""
    starts = np.cumsum(lengths) - lengths
    powers = np.exp(logits_T2 - np.repeat(np.maximum.reduceat(logits_T2, starts), lengths, axis=0))
    return np.asarray(powers / np.repeat(np.add.reduceat(powers, starts), lengths, axis=0))
