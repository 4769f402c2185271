"""Adam's step, compiled: one loop over the weights, gradients and moments of all copies that are due."""

from typing import Any

import numpy as np

from bv_search.cpu.loops import compiled

MEAN_DECAY = 0.9
SQUARE_DECAY = 0.999
EPSILON = 1e-8

f32 = np.float32


@compiled
def step(weights: Any, gradient: Any, mean: Any, square: Any, average: Any, tensors: Any) -> None:
    """One pass over everything that is due; gradients are zero afterwards."""
    starts, stops, numbers = tensors
    keep, take = f32(MEAN_DECAY), f32(1.0 - MEAN_DECAY)
    keep_square, take_square = f32(SQUARE_DECAY), f32(1.0 - SQUARE_DECAY)
    epsilon, zero = f32(EPSILON), f32(0.0)
    for tensor in range(len(starts)):
        share, correction, rate, decay, new = numbers[tensor]
        for n in range(starts[tensor], stops[tensor]):
            slope = gradient[n] * share
            mean[n] = keep * mean[n] + take * slope
            square[n] = keep_square * square[n] + take_square * slope * slope
            step = rate * mean[n] / (np.sqrt(square[n]) * correction + epsilon)
            weights[n] = weights[n] * decay - step
            average[n] += new * (weights[n] - average[n])
            gradient[n] = zero
