"""Several models' logits → one, for the windows of one role.

Of spans, the element-wise maximum is the paper's ensemble: position = argmax over i of max(Z_i, Y_i).
"""

from collections.abc import Iterable, Sequence
from enum import StrEnum

import numpy as np

from bv_search.errors import UserError
from bv_search.tasks.task import Kind
from bv_search.tasks.votes import RoleLogits, Votes, are_probabilities, mean_of


class Method(StrEnum):
    SINGLE = "single"  # one member, as it is
    MAX = "max"  # element-wise maximum of probabilities
    MEAN = "mean"  # mean of probabilities
    GREEDY = "greedy"  # mean of probabilities, weighted by how often a member was chosen


def max_of(votes: Sequence[Votes]) -> Votes:
    return Votes(np.maximum.reduce([vote.values for vote in votes]), votes[0].lengths)


def methods_of(kind: Kind) -> tuple[Method, ...]:
    """A maximum of values that are not probabilities means nothing."""
    return (*([Method.MAX] if are_probabilities(kind) else []), Method.MEAN, Method.GREEDY)


def check_method(method: Method | str, kind: Kind) -> None:
    if method not in methods_of(kind):
        raise UserError(
            f"cannot combine a {kind} task by {method}", expected=f"one of {', '.join(methods_of(kind))}"
        )


def combine(
    method: Method | str, members: Sequence[RoleLogits], kind: Kind, weights: Sequence[float] | None = None
) -> list[np.ndarray]:
    """One model's logits of several's. A single member's stay as they are."""
    assert members, "an ensemble has members"
    if len(members) == 1:
        return list(members[0])
    check_method(method, kind)
    votes = [Votes.of(logits, kind) for logits in members]
    combined = max_of(votes) if method == Method.MAX else mean_of(votes, weights)
    return combined.logits(kind)


def alone_words(name: str, tried: Iterable[str]) -> str:
    """Why a model alone was chosen: no more than was looked at, by the methods of what was considered."""
    match next((each for each in tried if each != Method.SINGLE), Method.GREEDY):
        case Method.MAX:
            return f"no maximum of the best models scored higher than {name} alone"
        case Method.MEAN:
            return f"no mean of the best models had a lower loss than {name} alone"
        case _:
            return f"adding any one model to {name} did not lower the loss"
