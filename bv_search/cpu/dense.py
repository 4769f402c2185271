"""gelu and the dense layers of several heads behind it, compiled.

R rows; N features and X outputs of all heads side by side, A and C of one.
"""

from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import torch
from torch import Tensor

from bv_search.cpu import loops

Masks = Sequence[Tensor | None]


class CompiledDense:
    """The same as `TorchDense`, in one loop over rows."""

    def __init__(self, dense_AC: Sequence[Tensor]) -> None:
        self.sizes = [len(each_AC) for each_AC in dense_AC]
        self._dense_CN = torch.cat([each_AC.t() for each_AC in dense_AC], dim=1)
        self._heads = self._dense_CN.numpy(), np.array([0, *accumulate(self.sizes)])

    def read_out(self, before_RN: Tensor, masks_RA: Masks, out_RX: Tensor) -> None:
        mask = self._joined(masks_RA, before_RN)
        loops.read_out(before_RN.numpy(), mask, self._heads, out_RX.numpy())

    def learn(
        self, before_RN: Tensor, masks_RA: Masks, grad_RX: Tensor, *, bias_N: Tensor, dense: Tensor
    ) -> Tensor:
        grad_before_RN = torch.empty_like(before_RN)
        loops.learn(
            before_RN.numpy(),
            self._joined(masks_RA, before_RN),
            self._heads,
            grad_RX.numpy(),
            grad_before_RN.numpy(),
            bias_N.numpy(),
            dense.numpy(),
        )
        return grad_before_RN

    def zero(self) -> Tensor:
        return torch.zeros_like(self._dense_CN)

    def of_heads(self, dense: Tensor) -> list[Tensor]:
        return [each_CA.t() for each_CA in torch.split(dense, self.sizes, dim=1)]

    def _joined(self, masks_RA: Masks, before_RN: Tensor) -> np.ndarray | None:
        present = [mask for mask in masks_RA if mask is not None]
        if not present:
            return None
        if len(present) == len(masks_RA):
            return torch.cat(present, dim=1).numpy()
        whole_RN = torch.ones_like(before_RN)
        for part, mask in zip(torch.split(whole_RN, self.sizes, dim=1), masks_RA, strict=True):
            if mask is not None:
                part.copy_(mask)
        return whole_RN.numpy()
