"""How much of the difference between trials each hyperparameter explains.

For one hyperparameter by itself: the share of the variance of select scores that lies between groups of
trials (the correlation ratio). Numbers with many values are cut into thirds. It says nothing of interactions,
and with few trials chance explains a share too, so what chance would explain stands beside it.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bv_search.run.leaderboard import flat
from bv_search.run.trial import DONE, TrialRecord

FEWEST = 6  # trials, below which nothing is said
MANY = 5  # different numbers, above which they are cut into thirds


@dataclass(frozen=True, kw_only=True)
class Group:
    label: str
    trials: int
    mean: float
    best: float


@dataclass(frozen=True, kw_only=True)
class Effect:
    name: str
    share: float  # of the variance, 0 to 1
    chance: float  # the share that as many groups would explain of noise
    trials: int  # that have this hyperparameter
    groups: tuple[Group, ...]


def find_effects(records: Sequence[TrialRecord]) -> list[Effect]:
    """Largest share first; hyperparameters that never varied are left out."""
    values: dict[str, list[tuple[Any, float]]] = defaultdict(list)
    for record in comparable(records):
        for name, value in flat(record.config).items():
            values[name].append((value, record.score or 0.0))
    effects = [_effect(name, pairs) for name, pairs in values.items() if len(pairs) >= FEWEST]
    return sorted((effect for effect in effects if effect is not None), key=lambda effect: -effect.share)


def comparable(records: Sequence[TrialRecord]) -> list[TrialRecord]:
    """Draws of the space that saw all their rows; where there are too few, also those stopped early."""
    scored = [record for record in records if record.answers and record.is_searched]
    done = [record for record in scored if record.status == DONE]
    return done if len(done) >= FEWEST else scored


def _effect(name: str, pairs: Sequence[tuple[Any, float]]) -> Effect | None:
    labels = _labels([value for value, _ in pairs])
    scores = np.array([score for _, score in pairs])
    total = float(((scores - scores.mean()) ** 2).sum())
    groups = {label: scores[[each == label for each in labels]] for label in sorted(set(labels))}
    if len(groups) < 2 or np.ptp(scores) == 0.0:
        return None
    between = sum(len(group) * (group.mean() - scores.mean()) ** 2 for group in groups.values())
    return Effect(
        name=name.removeprefix("head."),
        share=float(between) / total,
        chance=(len(groups) - 1) / (len(scores) - 1),
        trials=len(scores),
        groups=tuple(
            Group(label=label, trials=len(group), mean=float(group.mean()), best=float(group.max()))
            for (_, label), group in groups.items()
        ),
    )


def _labels(values: Sequence[Any]) -> list[tuple[float, str]]:
    """The group of every value: its place among the groups, and what it is called."""
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return [(0.0, str(value).lower() if isinstance(value, bool) else str(value)) for value in values]
    if len(set(values)) <= MANY:
        return [(float(value), f"{value:g}") for value in values]
    low, high = (float(edge) for edge in np.quantile(values, [1 / 3, 2 / 3]))
    names = (f"up to {low:.2g}", f"{low:.2g} to {high:.2g}", f"above {high:.2g}")
    places = np.searchsorted([low, high], values, side="left")
    return [(float(place), names[place]) for place in places]
