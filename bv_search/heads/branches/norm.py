"""Batch norm over the tokens of a micro-batch; padding is never among them.

T tokens, F features, W places along a width.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

EPSILON = 1e-3  # Keras's, as in the source work


class BatchNorm(nn.Module):
    """Trains on each micro-batch's own statistics, scores with the running ones.

    These are buffers: not trained, but saved with the head. Micro-batches count alike from step 0 on, so a
    few of them make good statistics for weights that stand still.
    """

    mean_F: Tensor
    variance_F: Tensor

    def __init__(self, features: int) -> None:
        super().__init__()
        self.scale_F = nn.Parameter(torch.ones(features))
        self.shift_F = nn.Parameter(torch.zeros(features))
        self.register_buffer("mean_F", torch.zeros(features))
        self.register_buffer("variance_F", torch.ones(features))

    def initialise(self) -> None:
        nn.init.ones_(self.scale_F)
        nn.init.zeros_(self.shift_F)
        nn.init.zeros_(self.mean_F)
        nn.init.ones_(self.variance_F)

    def forward(self, x: Tensor, step: int | None) -> Tensor:
        """x_TF, or x_TFW with places along the width that count like tokens."""
        return functional.batch_norm(
            x,
            self.mean_F,
            self.variance_F,
            self.scale_F,
            self.shift_F,
            # a single value is its own mean: only the running ones are of use
            training=step is not None and x.numel() > x.shape[1],
            momentum=1.0 / ((step or 0) + 1),
            eps=EPSILON,
        )
