"""The unit of a regression's values: an encoder learns alike in any, and answers in theirs.

Adam moves a weight by the learning rate, however large the loss is. So prices in thousands would be out of
reach, and all of the encoder would be bent towards them. Instead the dense layer at the end, whose weights
have the unit of the values, begins at their mean, and moves by the rate times their deviation. It keeps 32
bits where all else is rounded to 16: of bfloat16, the years of a decade are one.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel


@dataclass(frozen=True, kw_only=True)
class Unit:
    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def of(cls, values_N: np.ndarray) -> Self:
        values_N = values_N.astype(np.float64)
        return cls(mean=float(values_N.mean()), deviation=float(values_N.std()) or 1.0)

    @torch.no_grad()
    def give(self, layer: nn.Linear) -> None:
        """A layer that answered in deviations from the mean answers in values."""
        layer.weight.mul_(self.deviation)
        layer.bias.mul_(self.deviation).add_(self.mean)


ONE = Unit()


class ExactLinear(nn.Linear):
    """Rounds nothing to 16 bits."""

    def forward(self, hidden: Tensor) -> Tensor:
        if not torch.is_autocast_enabled(hidden.device.type):
            return super().forward(hidden)
        with torch.autocast(hidden.device.type, enabled=False):
            return super().forward(hidden.float())


def make_exact(model: PreTrainedModel) -> None:
    """Of a model for regression, the layer that its value comes from."""
    value_layer(model).__class__ = ExactLinear


def value_layer(model: PreTrainedModel) -> nn.Linear:
    """The last dense layer that is not the encoder's."""
    layers = [
        layer
        for name, layer in model.named_modules()
        if isinstance(layer, nn.Linear) and not name.startswith(f"{model.base_model_prefix}.")
    ]
    return layers[-1]
