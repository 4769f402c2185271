"""The front: heads that no other head beats in both score on `select` and parameters."""

from collections.abc import Iterable

from bv_search.run.leaderboard import best, describe
from bv_search.run.trial import TrialRecord


def find_front(records: Iterable[TrialRecord]) -> list[TrialRecord]:
    """From the smallest up: each has a better score than all that are smaller; rungs of the ladder too."""
    front: list[TrialRecord] = []
    by_size = sorted(best(records), key=lambda record: record.parameters or 0)  # of equal ones the best first
    for record in by_size:
        if not front or (record.score or 0.0) > (front[-1].score or 0.0):
            front.append(record)
    return front


def front_text(front: Iterable[TrialRecord]) -> str:
    lines = ["the front of score on select against parameters, from the smallest head up"]
    lines += [
        f"  {record.id:<10} {record.parameters or 0:>12,} parameters  {record.score:.4f} on select, "
        f"{record.report_score:.4f} on report  {describe(record.config)}"
        for record in front
    ]
    return "\n".join(lines)
