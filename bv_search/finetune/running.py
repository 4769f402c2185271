"""Mean and deviation of hidden states whose encoder moves.

L channels, T tokens of a step, H width.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from bv_search.heads.inputs import Standard, ValueMoments

SHARE = 1 / 128  # of a step in the running moments; the first steps count alike
LEAST = 1e-3  # of a mean: what varies less is constant, as in a store of float16


class RunningStandard:
    """What standardises the inputs of heads that ride along; `standard` is what they read, and it moves."""

    def __init__(
        self, layers: int, width: int, device: torch.device, values: ValueMoments | None = None
    ) -> None:
        self.standard = Standard(torch.zeros(layers, width), torch.ones(layers, width), values).to(device)
        self._values = values
        self._steps = 0
        self._variance_LH = torch.zeros(layers, width, device=device)

    @torch.no_grad()
    def update(self, hidden_LTH: Tensor) -> None:
        """By the tokens of a step: the moments of a mixture, in which older steps fade."""
        self._steps += 1
        share = max(1.0 / self._steps, SHARE)
        variance_LH, mean_LH = torch.var_mean(hidden_LTH, dim=1, correction=0)
        apart_LH = mean_LH - self.standard.mean_LH
        self.standard.mean_LH += share * apart_LH
        self._variance_LH += share * (variance_LH - self._variance_LH + (1.0 - share) * apart_LH.square())
        self._rescale()

    def frozen(self) -> Standard:
        """As it is now, for heads that are kept."""
        frozen = Standard(self.standard.mean_LH.clone(), self.standard.scale_LH.clone(), self._values)
        return frozen.to(self.standard.mean_LH.device)

    def state(self) -> dict[str, Tensor]:
        return {
            "mean": self.standard.mean_LH,
            "variance": self._variance_LH,
            "steps": torch.tensor(self._steps),
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.standard.mean_LH.copy_(state["mean"])
        self._variance_LH.copy_(state["variance"])
        self._steps = int(state["steps"])
        self._rescale()

    def _rescale(self) -> None:
        is_constant_LH = self._variance_LH <= (LEAST * self.standard.mean_LH).square()
        self.standard.scale_LH.copy_(self._variance_LH.rsqrt().masked_fill_(is_constant_LH, 0.0))
