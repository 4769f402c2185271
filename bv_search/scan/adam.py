"""Adam with decoupled weight decay, for all heads of a team.

Written here because each head has its own rate, decay, batch and count of steps: torch's optimisers
would take a group, and so a kernel launch, per head.

Weights, gradients and moments of all heads stand back to back, each in one piece of memory. On a CPU one
compiled loop goes through them; on a GPU torch's operations on many tensors do.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bv_search.heads.branches.kernel import compiled
from bv_search.scan.learner import Learner

MEAN_DECAY = 0.9
SQUARE_DECAY = 0.999
EPSILON = 1e-8

f32 = np.float32


class Adam:
    """The optimiser of some learners. Their tensors become parts of its own memory."""

    def __init__(self, learners: Sequence[Learner]) -> None:
        sizes = [parameter.numel() for learner in learners for parameter in learner.parameters]
        self._ends = np.cumsum([0, *sizes])
        counts = np.cumsum([0, *(len(learner.parameters) for learner in learners)])
        self._tensors = {id(n): range(*counts[k : k + 2]) for k, n in enumerate(learners)}  # of each learner
        # one after the other: what a memory is made of is given back before the next one
        self._weights = _joined([p.data for n in learners for p in n.parameters])
        for learner in learners:
            for parameter, part in zip(learner.parameters, self._parts(self._weights, learner), strict=True):
                parameter.data = part
        self._mean = _joined([t for n in learners for t in n.mean])
        for learner in learners:
            learner.mean = self._parts(self._mean, learner)
        self._square = _joined([t for n in learners for t in n.square])
        for learner in learners:
            learner.square = self._parts(self._square, learner)
        self._average = _joined([t for n in learners for t in n.average])
        for learner in learners:
            learner.average = self._parts(self._average, learner)
        self._gradient = _joined(
            [torch.zeros_like(p) if p.grad is None else p.grad for n in learners for p in n.parameters]
        )
        for learner in learners:
            for parameter, part in zip(learner.parameters, self._parts(self._gradient, learner), strict=True):
                parameter.grad = part

    def _parts(self, memory: Tensor, learner: Learner) -> list[Tensor]:
        """Those of it that are a learner's, in the shapes of its parameters."""
        places = zip(self._tensors[id(learner)], learner.parameters, strict=True)
        return [memory[slice(*self._ends[n : n + 2])].view(parameter.shape) for n, parameter in places]

    @torch.no_grad()
    def step(self, due: Sequence[Learner]) -> None:
        for learner in due:
            learner.steps += 1
        if self._weights.device.type == "cpu" and self._weights.dtype == torch.float32:
            self._compiled_step(due)
        else:
            _foreach_step(due)
        for learner in due:
            learner.stepped()

    def _compiled_step(self, due: Sequence[Learner]) -> None:
        tensors = np.array([tensor for learner in due for tensor in self._tensors[id(learner)]])
        numbers = np.array([row for learner in due for row in _numbers(learner)], np.float32)
        _step(
            self._weights.numpy(),
            self._gradient.numpy(),
            self._mean.numpy(),
            self._square.numpy(),
            self._average.numpy(),
            (self._ends[tensors], self._ends[tensors + 1], numbers),
        )


def _joined(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def _numbers(learner: Learner) -> Iterable[tuple[float, float, float, float, float]]:
    """Of each of its tensors: share of a window in the gradient, correction, rate, what decay leaves, and how
    much of the weights goes into their running mean."""
    rate = learner.rate()
    left = 1.0 - rate * learner.config.training.weight_decay
    rate /= 1.0 - MEAN_DECAY**learner.steps
    correction = (1.0 - SQUARE_DECAY**learner.steps) ** -0.5
    shares = [1.0 / max(windows, 1) for windows in learner.pending]  # of none, there is no gradient
    for owner, decays in zip(learner.owners, learner.decays, strict=True):
        yield shares[owner], correction, rate, left if decays else 1.0, learner.averaged_share()


@compiled
def _step(weights: Any, gradient: Any, mean: Any, square: Any, average: Any, tensors: Any) -> None:
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


def _foreach_step(due: Sequence[Learner]) -> None:
    parameters: list[Tensor] = [p for learner in due for p in learner.parameters]
    gradients = [p.grad for p in parameters if p.grad is not None]
    mean = [t for learner in due for t in learner.mean]
    square = [t for learner in due for t in learner.square]
    shares, corrections, rates, decays, new = (
        list(column) for column in zip(*(row for learner in due for row in _numbers(learner)), strict=True)
    )
    torch._foreach_mul_(gradients, shares)
    torch._foreach_lerp_(mean, gradients, 1.0 - MEAN_DECAY)
    torch._foreach_mul_(square, SQUARE_DECAY)
    torch._foreach_addcmul_(square, gradients, gradients, 1.0 - SQUARE_DECAY)
    torch._foreach_mul_(parameters, decays)
    scale = torch._foreach_sqrt(square)
    torch._foreach_mul_(scale, corrections)
    torch._foreach_add_(scale, EPSILON)
    torch._foreach_addcdiv_(parameters, mean, scale, [-rate for rate in rates])
    average = [t for learner in due for t in learner.average]
    torch._foreach_mul_(average, [1.0 - each for each in new])
    torch._foreach_add_(average, torch._foreach_mul(parameters, new))
    torch._foreach_zero_(gradients)
