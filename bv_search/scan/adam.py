"""Adam with decoupled weight decay, for all copies of heads in a pack.

Written here because each has its own rate, decay, batch and count of steps: torch's optimisers
would take a group, and so a kernel launch, per head.

Weights, gradients and moments of all stand back to back, each in one piece of memory. On a CPU one
compiled loop goes through them, elsewhere torch's operations on many tensors do.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from bv_search.cpu import adam as cpu
from bv_search.cpu.adam import EPSILON, MEAN_DECAY, SQUARE_DECAY
from bv_search.scan.learner import LearningCopy


class Adam:
    """The optimiser of some copies of heads. Their tensors become parts of its own memory."""

    def __init__(self, copies: Sequence[LearningCopy]) -> None:
        sizes = [parameter.numel() for copy in copies for parameter in copy.parameters]
        self._ends = np.cumsum([0, *sizes])
        counts = np.cumsum([0, *(len(copy.parameters) for copy in copies)])
        self._tensors = {id(n): range(*counts[k : k + 2]) for k, n in enumerate(copies)}  # of each copy
        # one after the other: what a memory is made of is given back before the next one
        self._weights = _joined([p.data for n in copies for p in n.parameters])
        for copy in copies:
            for parameter, part in zip(copy.parameters, self._parts(self._weights, copy), strict=True):
                parameter.data = part
        self._mean = _joined([t for n in copies for t in n.mean])
        for copy in copies:
            copy.mean = self._parts(self._mean, copy)
        self._square = _joined([t for n in copies for t in n.square])
        for copy in copies:
            copy.square = self._parts(self._square, copy)
        self._average = _joined([t for n in copies for t in n.average])
        for copy in copies:
            copy.average = self._parts(self._average, copy)
        self._gradient = _joined(
            [torch.zeros_like(p) if p.grad is None else p.grad for n in copies for p in n.parameters]
        )
        for copy in copies:
            for parameter, part in zip(copy.parameters, self._parts(self._gradient, copy), strict=True):
                parameter.grad = part

    def _parts(self, memory: Tensor, copy: LearningCopy) -> list[Tensor]:
        """Those of it that are a copy's, in the shapes of its parameters."""
        places = zip(self._tensors[id(copy)], copy.parameters, strict=True)
        return [memory[slice(*self._ends[n : n + 2])].view(parameter.shape) for n, parameter in places]

    @torch.no_grad()
    def step(self, due: Sequence[LearningCopy]) -> None:
        for copy in due:
            copy.steps += 1
        if self._weights.device.type == "cpu" and self._weights.dtype == torch.float32:
            self._compiled_step(due)
        else:
            _foreach_step(due)
        for copy in due:
            copy.stepped()

    def _compiled_step(self, due: Sequence[LearningCopy]) -> None:
        tensors = np.array([tensor for copy in due for tensor in self._tensors[id(copy)]])
        numbers = np.array([row for copy in due for row in _numbers(copy)], np.float32)
        cpu.step(
            self._weights.numpy(),
            self._gradient.numpy(),
            self._mean.numpy(),
            self._square.numpy(),
            self._average.numpy(),
            (self._ends[tensors], self._ends[tensors + 1], numbers),
        )


def _joined(tensors: Iterable[Tensor]) -> Tensor:
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def _numbers(copy: LearningCopy) -> Iterable[tuple[float, float, float, float, float]]:
    """Of each of its tensors: share of a window in the gradient, correction, rate, what decay leaves, and how
    much of the weights goes into their running mean."""
    rate = copy.rate()
    left = 1.0 - rate * copy.training.weight_decay
    rate /= 1.0 - MEAN_DECAY**copy.steps
    correction = (1.0 - SQUARE_DECAY**copy.steps) ** -0.5
    share = 1.0 / max(copy.pending, 1)  # of none, there is no gradient
    new = copy.averaged_share()
    for decays in copy.decays:
        yield share, correction, rate, left if decays else 1.0, new


def _foreach_step(due: Sequence[LearningCopy]) -> None:
    parameters: list[Tensor] = [p for copy in due for p in copy.parameters]
    gradients = [p.grad for p in parameters if p.grad is not None]
    mean = [t for copy in due for t in copy.mean]
    square = [t for copy in due for t in copy.square]
    shares, corrections, rates, decays, new = (
        list(column) for column in zip(*(row for copy in due for row in _numbers(copy)), strict=True)
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
    average = [t for copy in due for t in copy.average]
    torch._foreach_mul_(average, [1.0 - each for each in new])
    torch._foreach_add_(average, torch._foreach_mul(parameters, new))
    torch._foreach_zero_(gradients)
