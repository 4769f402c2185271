"""What a parameter is drawn from; names and bounds as in Ray Tune."""

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from bv_search.errors import SpaceError, UnknownName

MOST_STEPS = 1_000_000_000
LARGEST = 2**53  # whole numbers up to it are their own floats
Value = int | float


@dataclass(frozen=True)
class Choice:
    """One of several options, each a fixed value or a sub-space; drawn as the option's index."""

    name: ClassVar[str] = "choice"

    options: tuple[Any, ...]

    def edges(self) -> tuple[Value, ...]:
        return tuple(range(len(self.options)))

    def probes(self) -> tuple[Value, ...]:
        return self.edges()

    def holds(self, value: Value) -> bool:
        return type(value) is int and 0 <= value < len(self.options)

    def exact(self, value: Value) -> Value:
        return int(value)


@dataclass(frozen=True)
class Uniform:
    name: ClassVar[str] = "uniform"

    low: float
    high: float  # excluded

    def edges(self) -> tuple[Value, ...]:
        """As they are drawn: a bound that is written as a whole number is none."""
        return self.exact(self.low), self.exact(self.high)

    def probes(self) -> tuple[Value, ...]:
        """What shows that a setting cannot take all that is drawn."""
        return self.edges()

    def holds(self, value: Value) -> bool:
        """Past a bound by no more than a rounding error, as older journals have it."""
        return type(value) in (int, float) and math.isclose(value, self._clamped(value))

    def exact(self, value: float) -> Value:
        """What a searcher means: its arithmetic ends a last bit past a bound or beside a step."""
        return float(self._clamped(value))

    def _clamped(self, value: float) -> float:
        return min(max(value, self.low), self.high)


@dataclass(frozen=True)
class LogUniform(Uniform):
    name: ClassVar[str] = "loguniform"


@dataclass(frozen=True)
class QUniform(Uniform):
    """Multiples of a step, as are both bounds: Optuna counts from the lower one, HyperOpt from zero."""

    name: ClassVar[str] = "quniform"

    low: float
    high: float  # included
    step: float

    def probes(self) -> tuple[Value, ...]:
        return *self.edges(), self.exact(self.low + self.step)

    def exact(self, value: float) -> Value:
        """With no more decimals than the step; whole steps stay whole numbers."""
        step = _as_written(self.step)
        exact = round(Fraction(self._clamped(value)) / step) * step
        return int(exact) if float(self.step).is_integer() else float(exact)


@dataclass(frozen=True)
class RandInt:
    name: ClassVar[str] = "randint"

    low: int
    high: int  # excluded

    def edges(self) -> tuple[Value, ...]:
        return self.low, self.high - 1

    def probes(self) -> tuple[Value, ...]:
        return *self.edges(), min(self.low + 1, self.high - 1)

    def holds(self, value: Value) -> bool:
        return type(value) is int and self.low <= value < self.high

    def exact(self, value: float) -> Value:
        return min(max(round(value), self.low), self.high - 1)


Distribution = Choice | Uniform | LogUniform | QUniform | RandInt


def pick_at_random(distribution: Distribution, rng: np.random.Generator) -> Value:
    match distribution:
        case Choice(options):
            return int(rng.integers(len(options)))
        case RandInt(low, high):
            return int(rng.integers(low, high))
        case LogUniform(low, high):
            return float(math.exp(rng.uniform(math.log(low), math.log(high))))
        case _:
            return float(rng.uniform(distribution.low, distribution.high))


def parse_distribution(name: str, bounds: Any, where: str) -> Distribution:
    if name not in PARSERS:
        raise UnknownName("distribution", name, PARSERS, do=f"in {where}")
    return PARSERS[name](bounds, where)


def _choice(options: Any, where: str) -> Choice:
    if not isinstance(options, list) or not options:
        raise SpaceError("bad choice", where=where, expected="a list of options", found=repr(options))
    return Choice(tuple(options))


def _bounds(value: Any, names: tuple[str, ...], where: str) -> list[float]:
    if not isinstance(value, list) or len(value) != len(names) or not all(map(_is_number, value)):
        raise SpaceError("bad bounds", where=where, expected=f"[{', '.join(names)}]", found=repr(value))
    if value[0] >= value[1]:
        raise SpaceError("empty bounds", where=where, expected="low below high", found=value)
    return value


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and type(value) is not bool and abs(value) <= sys.float_info.max


def _as_written(value: float) -> Fraction:
    """0.1 is a tenth, which no float is."""
    return Fraction(str(value))


def _uniform(value: Any, where: str) -> Uniform:
    return Uniform(*_bounds(value, ("low", "high"), where))


def _loguniform(value: Any, where: str) -> LogUniform:
    low, high = _bounds(value, ("low", "high"), where)
    if low <= 0:
        raise SpaceError("bad bounds", where=where, expected="low above 0", found=low)
    return LogUniform(low, high)


def _randint(value: Any, where: str) -> RandInt:
    low, high = _bounds(value, ("low", "high"), where)
    if type(low) is not int or type(high) is not int:
        raise SpaceError("bad bounds", where=where, expected="whole numbers", found=value)
    if max(abs(low), abs(high)) > LARGEST:
        raise SpaceError("bad bounds", where=where, expected=f"within ±{LARGEST:,}", found=f"[{low}, {high}]")
    return RandInt(low, high)


def _quniform(value: Any, where: str) -> QUniform:
    low, high, step = _bounds(value, ("low", "high", "step"), where)
    if step <= 0:
        raise SpaceError("bad step", where=where, expected="a number above 0", found=step)
    if (high - low) / step > MOST_STEPS:
        raise SpaceError("bad step", where=where, expected=f"at most {MOST_STEPS:,} of them", found=step)
    if any(_as_written(bound) % _as_written(step) for bound in (low, high)):
        raise SpaceError(
            "bad bounds", where=where, expected=f"multiples of the step {step}", found=f"[{low}, {high}]"
        )
    return QUniform(low, high, step)


PARSERS: dict[str, Callable[[Any, str], Distribution]] = {
    "choice": _choice,
    "grid": _choice,
    "uniform": _uniform,
    "loguniform": _loguniform,
    "randint": _randint,
    "quniform": _quniform,
}
