"""Dropout of the features that enter a head's dense layer.

What is dropped depends on the head's seed, the branch, and the step alone: not on what runs beside the
head, nor on what ran before it.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import xxhash
from torch import Generator, Tensor

from bv_search.cpu import loops


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
        mask = torch.empty(*shape, device=device)
        if device.type == "cpu":
            loops.draw_mask(mask.numpy().reshape(-1, shape[-1]), self.drawing(step, part))
            return mask
        generator = Generator(device).manual_seed(self._drawn(step, part) >> 1)
        return mask.bernoulli_(1.0 - self.rate, generator=generator).div_(1.0 - self.rate)

    def drawing(self, step: int, part: int) -> Any:
        return loops.drawing(self._drawn(step, part), self.rate)

    def _drawn(self, step: int, part: int) -> int:
        return xxhash.xxh3_64_intdigest(struct.pack("<QQQQ", self.seed, self.branch, step, part))
