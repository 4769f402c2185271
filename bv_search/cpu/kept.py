"""Dense layers on what dropout leaves of their features, compiled.

One loop goes through all of them: it draws a row of a mask, multiplies and adds up, and draws it again for
the gradient. So what dropout leaves is never made.

K readings, M inputs, X numbers of a row of an input, F features of a reading, N of all.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bv_search.cpu import loops

STORED = {torch.float32: torch.float32, torch.bfloat16: torch.uint16}
"""What the loops read, and what NumPy takes it for."""


class CompiledKept:
    """A place is the input that a dense layer reads, and where in a row its features begin."""

    def __init__(
        self, denses: Sequence[Tensor], places: Sequence[tuple[int, int]], drawings: Sequence[Any]
    ) -> None:
        self._dense_CN = torch.cat([dense_FC.t() for dense_FC in denses], dim=1)
        self._sizes = [len(dense_FC) for dense_FC in denses]
        borders = pairwise(accumulate(self._sizes, initial=0))
        readings = ((*place, *border) for place, border in zip(places, borders, strict=True))
        self._readings = np.array(list(readings), np.int64)
        kinds = (np.uint32, np.uint32, np.uint32, np.float32)
        columns = zip(kinds, zip(*drawings, strict=True), strict=True)
        self._drawings = tuple(np.array(column, kind) for kind, column in columns)

    def read(self, x_MTX: Tensor) -> Tensor:
        out_KTC = torch.empty(len(self._sizes), x_MTX.shape[1], len(self._dense_CN))
        dense_CN = self._dense_CN.numpy()
        loops.read_kept(_stored(x_MTX), self._readings, self._drawings, dense_CN, out_KTC.numpy())
        return out_KTC

    def learn(self, x_MTX: Tensor, grad_KTC: Tensor) -> list[Tensor]:
        """The gradients of the dense layers."""
        grad_CN = torch.zeros_like(self._dense_CN)
        loops.learn_kept(_stored(x_MTX), self._readings, self._drawings, grad_KTC.numpy(), grad_CN.numpy())
        return [each_CF.t() for each_CF in torch.split(grad_CN, self._sizes, dim=1)]

    def pass_on(self, x_MTX: Tensor, grad_KTC: Tensor) -> Tensor:
        """The gradient of the features."""
        grad_MTX = torch.zeros(x_MTX.shape)
        dense_CN = self._dense_CN.numpy()
        loops.pass_kept(self._readings, self._drawings, dense_CN, grad_KTC.numpy(), grad_MTX.numpy())
        return grad_MTX.to(x_MTX.dtype)


def _stored(x_MTX: Tensor) -> np.ndarray:
    x_MTX = x_MTX.detach().contiguous()
    return x_MTX.view(STORED[x_MTX.dtype]).numpy()
