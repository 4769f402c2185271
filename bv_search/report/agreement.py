"""Where heads and encoder part ways: rows that only one of them gets right."""

from dataclasses import dataclass

import numpy as np

from bv_search.model.standings import Standing
from bv_search.report.facts import Facts
from bv_search.scan.ladder import ENCODER
from bv_search.tasks.task import Kind


@dataclass(frozen=True, kw_only=True)
class Agreement:
    title: str
    both: int
    alone: int  # right where the encoder is wrong
    lost: int  # wrong where the encoder is right
    neither: int


def agreements(facts: Facts) -> list[Agreement]:
    """Of classification tasks; spans have an analysis of their own, and values are never just right."""
    encoder = facts.standing(ENCODER)
    if facts.task.kind is not Kind.CLASSIFICATION or encoder is None:
        return []
    theirs = _right(encoder)
    found = []
    for standing in facts.standings:
        if standing.role == ENCODER:
            continue
        ours = _right(standing)
        found.append(
            Agreement(
                title=standing.title,
                both=int((ours & theirs).sum()),
                alone=int((ours & ~theirs).sum()),
                lost=int((~ours & theirs).sum()),
                neither=int((~ours & ~theirs).sum()),
            )
        )
    return found


def _right(standing: Standing) -> np.ndarray:
    outcome = standing.evaluation.outcome
    return np.asarray(outcome[:, 0] == outcome[:, 1])
