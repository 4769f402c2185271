"""Adam with decoupled weight decay, one fused step for all heads that are due.

Written here because each head has its own rate, decay, batch and count of steps: torch's optimisers
would take a group, and so a kernel launch, per head.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from bv_search.scan.learner import Learner

MEAN_DECAY = 0.9
SQUARE_DECAY = 0.999
EPSILON = 1e-8


@torch.no_grad()
def step(learners: Sequence[Learner]) -> None:
    for learner in learners:
        learner.steps += 1
    parameters: list[Tensor] = [p for learner in learners for p in learner.parameters]
    gradients = [p.grad for p in parameters if p.grad is not None]
    assert len(gradients) == len(parameters), "a head that is due has seen data"
    mean = [t for learner in learners for t in learner.mean]
    square = [t for learner in learners for t in learner.square]

    torch._foreach_div_(gradients, _spread(learners, [float(learner.pending) for learner in learners]))
    torch._foreach_lerp_(mean, gradients, 1.0 - MEAN_DECAY)
    torch._foreach_mul_(square, SQUARE_DECAY)
    torch._foreach_addcmul_(square, gradients, gradients, 1.0 - SQUARE_DECAY)
    _decay(learners)
    scale = torch._foreach_sqrt(square)
    torch._foreach_div_(scale, _spread(learners, [(1.0 - SQUARE_DECAY**n.steps) ** 0.5 for n in learners]))
    torch._foreach_add_(scale, EPSILON)
    rates = [-learner.rate() / (1.0 - MEAN_DECAY**learner.steps) for learner in learners]
    torch._foreach_addcdiv_(parameters, mean, scale, _spread(learners, rates))

    for learner in learners:
        learner.pending = 0
    for parameter in parameters:
        parameter.grad = None


def _spread(learners: Sequence[Learner], values: Sequence[float]) -> list[float]:
    """A head's number, once for each of its tensors."""
    return [value for n, value in zip(learners, values, strict=True) for _ in n.parameters]


def _decay(learners: Sequence[Learner]) -> None:
    """Matrices only: biases and layer mixes are not pulled to zero."""
    for learner in learners:
        decay = learner.config.training.weight_decay
        if decay:
            named = zip(learner.names, learner.parameters, strict=True)
            matrices: list[Tensor] = [p for name, p in named if p.dim() > 1 and not _is_bias(name)]
            torch._foreach_mul_(matrices, 1.0 - learner.rate() * decay)


def _is_bias(name: str) -> bool:
    return name.rpartition(".")[2].startswith("bias")
