"""Several models' logits → one, for the windows of one role.

Classes and spans are combined as probabilities. For spans the softmax is over the tokens of a window, for
start and end separately, and the element-wise maximum is the source work's ensemble: position = argmax over i
of max(Z_i, Y_i). The result goes back to logits (its logarithm), so that the task's own rule for answers and
for no answer decides, as it does for one model. Values of a regression are averaged as they are.
"""

from collections.abc import Sequence
from enum import StrEnum

import numpy as np

from bv_search.errors import UserError
from bv_search.tasks.task import Kind

Logits = Sequence[np.ndarray]
TINY = np.float32(1e-30)


class Method(StrEnum):
    SINGLE = "single"  # one member, as it is
    MAX = "max"  # element-wise maximum of probabilities
    MEAN = "mean"  # mean of probabilities
    GREEDY = "greedy"  # mean of probabilities, weighted by how often a member was chosen


class Votes:
    """One model's say on every window, flat, so that combining is one operation over all windows.

    T tokens of all windows back to back for spans, else N windows.
    """

    def __init__(self, values: np.ndarray, lengths: np.ndarray | None) -> None:
        self.values = values  # (T, 2) or (N, C)
        self.lengths = lengths  # tokens of each window, for spans

    @classmethod
    def of(cls, logits: Logits, kind: Kind) -> "Votes":
        if kind is Kind.SPAN:
            lengths = np.array([len(window) for window in logits], dtype=np.int64)
            return cls(_softmax_of_windows(np.concatenate(logits).astype(np.float32), lengths), lengths)
        flat = np.stack(logits).astype(np.float32)
        return cls(flat if kind is Kind.REGRESSION else _softmax(flat), None)

    def logits(self, kind: Kind) -> list[np.ndarray]:
        values = self.values if kind is Kind.REGRESSION else np.log(np.maximum(self.values, TINY))
        if self.lengths is None:
            return list(values)
        return np.split(values, np.cumsum(self.lengths)[:-1])


def mean_of(votes: Sequence[Votes], weights: Sequence[float] | None = None) -> Votes:
    weights = weights or [1.0] * len(votes)
    total = np.zeros_like(votes[0].values)
    for vote, weight in zip(votes, weights, strict=True):
        total += np.float32(weight) * vote.values
    return Votes(total / np.float32(sum(weights)), votes[0].lengths)


def max_of(votes: Sequence[Votes]) -> Votes:
    return Votes(np.maximum.reduce([vote.values for vote in votes]), votes[0].lengths)


def methods_of(kind: Kind) -> tuple[Method, ...]:
    """A maximum of values that are not probabilities means nothing."""
    if kind is Kind.REGRESSION:
        return (Method.MEAN, Method.GREEDY)
    return (Method.MAX, Method.MEAN, Method.GREEDY)


def check_method(method: Method | str, kind: Kind) -> None:
    if method not in methods_of(kind):
        raise UserError(
            f"cannot combine a {kind} task by {method}", expected=f"one of {', '.join(methods_of(kind))}"
        )


def combine(
    method: Method | str, members: Sequence[Logits], kind: Kind, weights: Sequence[float] | None = None
) -> list[np.ndarray]:
    """One model's logits of several's. A single member's stay as they are."""
    assert members, "an ensemble has members"
    if len(members) == 1:
        return list(members[0])
    check_method(method, kind)
    votes = [Votes.of(logits, kind) for logits in members]
    combined = max_of(votes) if method == Method.MAX else mean_of(votes, weights)
    return combined.logits(kind)


def _softmax(logits_NC: np.ndarray) -> np.ndarray:
    powers = np.exp(logits_NC - logits_NC.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _softmax_of_windows(logits_T2: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Softmax over the tokens of each window, start and end by themselves."""
    starts = np.cumsum(lengths) - lengths
    powers = np.exp(logits_T2 - np.repeat(np.maximum.reduceat(logits_T2, starts), lengths, axis=0))
    return np.asarray(powers / np.repeat(np.add.reduceat(powers, starts), lengths, axis=0))
