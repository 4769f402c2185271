"""How a head is trained. Free of torch: searchers and dry runs read it too."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, Self, get_args, get_type_hints

from bv_search.command import AUTO
from bv_search.errors import SpaceError
from bv_search.store.layout import MICRO_BATCH

Schedule = Literal["constant", "linear", "cosine"]


@dataclass(frozen=True, kw_only=True)
class TrainingConfig:
    learning_rate: float = 1e-3  # of Adam, after warm-up
    weight_decay: float = 0.0  # decoupled
    batch: int = MICRO_BATCH  # windows a step, a multiple of the micro-batch
    warmup: float = 0.0  # fraction of the longest course over which the rate rises from zero
    schedule: Schedule = "constant"  # after warm-up, over the longest course
    dropout: float = 0.0  # share of the features that the dense layer misses
    label_smoothing: float = 0.0  # share of the target that is spread evenly; regression has none
    seed: int = 0  # of the first weights, and of dropout
    passes: int | Literal["auto"] = AUTO  # over the head's share of the data; auto: until it has learned
    patience: int = 6  # of auto: checks without a gain before a head has learned
    averaging: float = 0.97  # of auto: what a step leaves of the running mean of weights, which is judged
    data_fraction: float = 1.0  # the first f of the store's rows, a uniform sample of them

    def __post_init__(self) -> None:
        for name, hint in get_type_hints(type(self)).items():
            self._check(name, hint)

    def _check(self, name: str, hint: Any) -> None:
        value, expected = getattr(self, name), EXPECTED.get(name)
        if name == "passes":
            good = value == AUTO or _is_count(name, value)
        elif get_args(hint):
            good = value in get_args(hint)
            expected = ", ".join(get_args(hint))
        elif hint is int:
            good = _is_count(name, value)
        else:
            good = type(value) in (int, float) and math.isfinite(value) and RANGES[name](value)
        if not good:
            raise SpaceError(f"bad {name}", expected=expected, found=repr(value))

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        return cls(**value)

    def rows(self, windows: int) -> int:
        """Windows of one pass over a train split that has so many: whole micro-batches, or all."""
        share = round(self.data_fraction * windows, 6)  # 0.07 of 1600 is 112, and not a little more
        return min(windows, max(1, math.ceil(share / MICRO_BATCH)) * MICRO_BATCH)

    def rate_at(self, done: float) -> float:
        """The learning rate after the fraction `done` of the longest course."""
        if done < self.warmup:
            return self.learning_rate * done / self.warmup
        rest = (done - self.warmup) / (1.0 - self.warmup)
        match self.schedule:
            case "constant":
                return self.learning_rate
            case "linear":
                return self.learning_rate * (1.0 - rest)
            case "cosine":
                return self.learning_rate * 0.5 * (1.0 + math.cos(math.pi * rest))


def _is_count(name: str, value: object) -> bool:
    return type(value) is int and value >= MINIMUM[name] and (name != "batch" or value % MICRO_BATCH == 0)


EXPECTED = {
    "learning_rate": "a number above 0",
    "weight_decay": "a number, 0 or above",
    "batch": f"a multiple of {MICRO_BATCH}",
    "warmup": "a number from 0 to below 1",
    "dropout": "a number from 0 to below 1",
    "label_smoothing": "a number from 0 to below 1",
    "seed": "a whole number, 0 or above",
    "passes": "auto, or a whole number above 0",
    "patience": "a whole number above 0",
    "averaging": "a number from 0 to below 1",
    "data_fraction": "a number above 0 and up to 1",
}
MINIMUM = {"batch": MICRO_BATCH, "seed": 0, "passes": 1, "patience": 1}
RANGES = {
    "learning_rate": lambda value: value > 0,
    "weight_decay": lambda value: value >= 0,
    "warmup": lambda value: 0 <= value < 1,
    "dropout": lambda value: 0 <= value < 1,
    "label_smoothing": lambda value: 0 <= value < 1,
    "averaging": lambda value: 0 <= value < 1,
    "data_fraction": lambda value: 0 < value <= 1,
}
SETTINGS = frozenset(field.name for field in fields(TrainingConfig))
