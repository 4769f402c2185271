"""What heads read: hidden states as they are, or standardised by channel and feature.

A few features of an encoder are hundreds of times larger than the others, and heads on raw states learn
slowly. Standardising is one step over a batch for all heads of a pack, next to its widening.

Values of a regression are standardised with them: a head's steps have the size of its learning rate, whatever
the unit of what it learns.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from bv_search.heads.head import Head


ValueMoments = tuple[Tensor, Tensor]
"""Mean and deviation of the values of a regression, (1,) each."""


def value_moments(labels_N1: np.ndarray) -> ValueMoments:
    """Of values that are all the same, the deviation counts as 1."""
    values_N1 = labels_N1.astype(np.float64)
    deviation_1 = values_N1.std(axis=0)
    deviation_1[deviation_1 == 0.0] = 1.0
    return torch.from_numpy(values_N1.mean(axis=0)).float(), torch.from_numpy(deviation_1).float()


class Standard(nn.Module):
    """Mean 0, deviation 1 over the tokens of a train split. Its numbers are saved with a head."""

    mean_LH: Tensor
    scale_LH: Tensor
    value_mean_1: Tensor
    value_deviation_1: Tensor

    def __init__(self, mean_LH: Tensor, scale_LH: Tensor, values: ValueMoments | None = None) -> None:
        super().__init__()
        self.register_buffer("mean_LH", mean_LH)
        self.register_buffer("scale_LH", scale_LH)
        self.has_values = values is not None
        if values is not None:
            self.register_buffer("value_mean_1", values[0])
            self.register_buffer("value_deviation_1", values[1])

    @classmethod
    def of(cls, mean_LH: np.ndarray, scale_LH: np.ndarray, values: ValueMoments | None = None) -> Self:
        mean, scale = (torch.from_numpy(each.astype(np.float32)) for each in (mean_LH, scale_LH))
        return cls(mean, scale, values)

    @classmethod
    def empty(cls, layers: int, width: int, *, has_values: bool = False) -> Self:
        """To be filled by weights that are loaded."""
        values = (torch.zeros(1), torch.ones(1)) if has_values else None
        return cls(torch.zeros(layers, width), torch.ones(layers, width), values)

    @property
    def unit(self) -> float:
        """How large a step of a head's outputs is in the labels."""
        return float(self.value_deviation_1) if self.has_values else 1.0

    def answers(self, outputs: Tensor) -> Tensor:
        """What a head says, in the unit of the labels."""
        return outputs * self.value_deviation_1 + self.value_mean_1 if self.has_values else outputs

    def outputs(self, answers: Tensor) -> Tensor:
        """The way back."""
        return (answers - self.value_mean_1) / self.value_deviation_1 if self.has_values else answers

    def apply_to(self, hidden_LTH: Tensor) -> Tensor:
        """In place, a layer at a time: it is in the cache then."""
        for hidden_TH, mean_H, scale_H in zip(hidden_LTH, self.mean_LH, self.scale_LH, strict=True):
            hidden_TH.sub_(mean_H).mul_(scale_H)
        return hidden_LTH

    def equals(self, other: "Standard") -> bool:
        ours, theirs = self.state_dict(), other.state_dict()
        return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


Inputs = Standard | None
"""None: raw."""

States = Mapping[Inputs, Tensor]
"""hidden_LTH of a batch, once for each kind of inputs that its heads read."""


def prepare(
    hidden_LTH: Tensor, wanted: Sequence[Inputs], dtype: torch.dtype = torch.float32
) -> dict[Inputs, Tensor]:
    """The states of a batch. `hidden_LTH` is the caller's to give away: the last kind is made in it."""
    states: dict[Inputs, Tensor] = {None: hidden_LTH} if None in wanted else {}
    standards = [each for each in wanted if each is not None]
    for number, standard in enumerate(standards, start=1):
        own = number == len(standards) and None not in states
        states[standard] = standard.apply_to(hidden_LTH if own else hidden_LTH.clone())
    return {inputs: states_LTH.to(dtype) for inputs, states_LTH in states.items()}


def share_inputs(heads: Iterable["Head"]) -> list[Inputs]:
    """The kinds of inputs of some heads. Heads whose numbers are equal share one object from then on."""
    found: list[Inputs] = []
    for head in heads:
        same = next((each for each in found if _same(each, head.inputs)), head.inputs)
        head.inputs = same
        if not any(each is same for each in found):
            found.append(same)
    return found


def _same(one: Inputs, other: Inputs) -> bool:
    if one is None or other is None:
        return one is other
    return one is other or one.equals(other)
