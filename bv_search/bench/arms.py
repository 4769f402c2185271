"""Arms of a measurement take turns, so that what disturbs one disturbs all. The median round counts."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import Any

from bv_search.bench.memory import forget_peak, peak
from bv_search.command import Progress

Arm = Callable[[], float]
"""Does its work once and says how much it was: tokens, bytes, windows."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What an arm did per second, in each round."""

    unit: str
    rounds: tuple[float, ...]
    amount: float
    peak: int = 0  # bytes of memory that the process had at most

    @property
    def rate(self) -> float:
        return median(self.rounds)

    def to_json(self) -> dict[str, Any]:
        return {
            f"{self.unit}_per_second": _digits(self.rate),
            "rounds": [_digits(each) for each in self.rounds],
            self.unit: round(self.amount),
            "peak_bytes": self.peak,
        }


def _digits(value: float) -> float:
    """Five of them: more would be noise."""
    return float(f"{value:.5g}")


def take_turns(
    arms: Mapping[str, Arm], *, unit: str, rounds: int, progress: Progress, warm: bool = True
) -> dict[str, Measured]:
    """Every arm once per round; a first round warms caches up and does not count."""
    rates: dict[str, list[float]] = {name: [] for name in arms}
    amounts: dict[str, float] = {}
    peaks = dict.fromkeys(arms, 0)
    for number in range(-1 if warm else 0, rounds):
        for name, arm in arms.items():
            progress.update(f"round {number + 1} of {rounds}: {name}")
            forget_peak()
            started = time.perf_counter()
            amounts[name] = arm()
            seconds = time.perf_counter() - started
            peaks[name] = max(peaks[name], peak())
            if number >= 0:
                rates[name].append(amounts[name] / seconds)
    return {
        name: Measured(unit=unit, rounds=tuple(rates[name]), amount=amounts[name], peak=peaks[name])
        for name in arms
    }


def ratio(measured: Mapping[str, Measured], one: str, other: str) -> float:
    """How many times as fast one arm is: the median over rounds of the ratio within a round."""
    pairs = zip(measured[one].rounds, measured[other].rounds, strict=True)
    return round(median(a / b for a, b in pairs), 4)


def render(arms: Mapping[str, Mapping[str, Any]], ratios: Mapping[str, float]) -> str:
    """The same for a reader."""
    lines = []
    for name, said in arms.items():
        key = next(each for each in said if each.endswith("_per_second"))
        rate = f"{said[key]:>18,.{0 if said[key] >= 100 else 2}f} {key.removesuffix('_per_second')}/s"
        lines.append(f"  {name:48} {rate}, {said['peak_bytes'] / 1e9:.2f} GB")
    return "\n".join([*lines, *(f"  {name:74} {value:>8.3f}×" for name, value in ratios.items())])
