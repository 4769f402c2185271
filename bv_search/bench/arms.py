"""Arms of a measurement take turns, so that what disturbs one disturbs all. The median round counts."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from bv_search.command import Progress

Arm = Callable[[], float]
"""Does its work once and says how much it was: tokens, bytes, windows."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What an arm did per second, in each round."""

    unit: str
    rounds: tuple[float, ...]
    amount: float

    @property
    def rate(self) -> float:
        return median(self.rounds)

    def to_json(self) -> dict[str, Any]:
        return {
            f"{self.unit}_per_second": round(self.rate, 1),
            "rounds": [round(each, 1) for each in self.rounds],
            self.unit: round(self.amount),
        }


def take_turns(
    arms: Mapping[str, Arm], *, unit: str, rounds: int, progress: Progress, warm: bool = True
) -> dict[str, Measured]:
    """Every arm once per round; a first round warms caches up and does not count."""
    rates: dict[str, list[float]] = {name: [] for name in arms}
    amounts: dict[str, float] = {}
    for number in range(-1 if warm else 0, rounds):
        for name, arm in arms.items():
            progress.update(f"round {number + 1} of {rounds}: {name}")
            started = time.perf_counter()
            amounts[name] = arm()
            seconds = time.perf_counter() - started
            if number >= 0:
                rates[name].append(amounts[name] / seconds)
    return {name: Measured(unit=unit, rounds=tuple(rates[name]), amount=amounts[name]) for name in arms}


def ratio(measured: Mapping[str, Measured], one: str, other: str) -> float:
    """How many times as fast one arm is: the median over rounds of the ratio within a round."""
    pairs = zip(measured[one].rounds, measured[other].rounds, strict=True)
    return round(median(a / b for a, b in pairs), 4)


def render(arms: Mapping[str, Mapping[str, Any]], ratios: Mapping[str, float]) -> str:
    """The same for a reader."""
    lines = []
    for name, said in arms.items():
        key = next(each for each in said if each.endswith("_per_second"))
        lines.append(f"  {name:24} {said[key]:>18,.0f} {key.removesuffix('_per_second')}/s")
    return "\n".join([*lines, *(f"  {name:44} {value:.3f}×" for name, value in ratios.items())])
