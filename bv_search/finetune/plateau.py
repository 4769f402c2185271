"""When fine-tuning has gone far enough for its heads."""

from collections.abc import Sequence


def is_plateau(scores: Sequence[float | None], patience: int | None) -> bool:
    """Whether the best head did no better at each of the last stages than at one before.

    `scores` are of the best head on select, stage by stage; None where all heads of a stage failed.
    """
    if patience is None:
        return False
    idle, best = 0, None
    for score in scores:
        if score is not None and (best is None or score > best):
            best, idle = score, 0
        else:
            idle += 1
    return idle >= patience
