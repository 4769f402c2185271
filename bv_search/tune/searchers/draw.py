"""Independent draws from a space."""

import math

import numpy as np

from bv_search.tune.distribution import Choice, Distribution, LogUniform, RandInt, Value
from bv_search.tune.space import Draws, Space


def draw_at_random(space: Space, rng: np.random.Generator) -> Draws:
    def pick(path: str, distribution: Distribution) -> Value:
        match distribution:
            case Choice(options):
                return int(rng.integers(len(options)))
            case RandInt(low, high):
                return int(rng.integers(low, high))
            case LogUniform(low, high):
                return float(math.exp(rng.uniform(math.log(low), math.log(high))))
            case _:
                return float(rng.uniform(distribution.low, distribution.high))

    return space.draw(pick)
