"""What heads read: hidden states as they are, or standardised by channel and feature.

A few features of an encoder are hundreds of times larger than the others, and heads on raw states learn
slowly. Standardising is one step over a batch for all heads of a pack, next to its widening.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from torch import Tensor, nn

if TYPE_CHECKING:
    from bv_search.heads.head import Head


class Standard(nn.Module):
    """Mean 0, deviation 1 over the tokens of a train split. Its numbers are saved with a head."""

    mean_LH: Tensor
    scale_LH: Tensor

    def __init__(self, mean_LH: Tensor, scale_LH: Tensor) -> None:
        super().__init__()
        self.register_buffer("mean_LH", mean_LH)
        self.register_buffer("scale_LH", scale_LH)

    @classmethod
    def of(cls, mean_LH: np.ndarray, scale_LH: np.ndarray) -> Self:
        return cls(*(torch.from_numpy(values.astype(np.float32)) for values in (mean_LH, scale_LH)))

    @classmethod
    def empty(cls, layers: int, width: int) -> Self:
        """To be filled by weights that are loaded."""
        return cls(torch.zeros(layers, width), torch.ones(layers, width))

    def apply_to(self, hidden_LTH: Tensor) -> Tensor:
        """In place, a layer at a time: it is in the cache then."""
        for hidden_TH, mean_H, scale_H in zip(hidden_LTH, self.mean_LH, self.scale_LH, strict=True):
            hidden_TH.sub_(mean_H).mul_(scale_H)
        return hidden_LTH

    def equals(self, other: "Standard") -> bool:
        return torch.equal(self.mean_LH, other.mean_LH) and torch.equal(self.scale_LH, other.scale_LH)


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
