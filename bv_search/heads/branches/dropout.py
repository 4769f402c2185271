"""Dropout of the features that enter a head's dense layer.

What is dropped depends on the head's seed, the branch, and the step alone: not on what runs beside the
head, nor on what ran before it.
"""

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
        entropy = np.random.SeedSequence([self.seed, self.branch, step, part]).generate_state(1, np.uint64)
        generator = Generator(features.device).manual_seed(int(entropy[0] >> np.uint64(1)))
        kept = torch.empty_like(features).bernoulli_(1.0 - self.rate, generator=generator)
        return features * kept.div_(1.0 - self.rate)
