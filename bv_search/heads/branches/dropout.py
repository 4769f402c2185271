"""Dropout of the features that enter a head's dense layer.

What is dropped depends on the head's seed, the branch, and the step alone: not on what runs beside the
head, nor on what ran before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Generator, Tensor


@dataclass(frozen=True, kw_only=True)
class Dropout:
    rate: float  # share of the features
    seed: int  # of the head
    branch: int  # its number in the head

    def __call__(self, features: Tensor, step: int, part: int = 0) -> Tensor:
        """`part` numbers the pieces where features of one step are made piece by piece."""
        return features * self.mask(features.shape, features.device, step, part)

    def mask(self, shape: Sequence[int], device: torch.device, step: int, part: int = 0) -> Tensor:
        """What features are multiplied with: zero, or what makes up for the zeros."""
        entropy = np.random.SeedSequence([self.seed, self.branch, step, part]).generate_state(1, np.uint64)
        generator = Generator(device).manual_seed(int(entropy[0] >> np.uint64(1)))
        kept = torch.empty(*shape, device=device).bernoulli_(1.0 - self.rate, generator=generator)
        return kept.div_(1.0 - self.rate)
