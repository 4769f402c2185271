"""What fine-tuning minimises, by kind of task; padding has no part in it.

Shapes: B windows of a batch, S tokens with padding, C outputs.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from bv_search.tasks.task import Kind

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def span_loss(logits_BS2: Tensor, labels_B2: Tensor, mask_BS: Tensor) -> Tensor:
    """Cross-entropy over the tokens of a window, mean of start and end; no answer is position 0."""
    logits_BS2 = logits_BS2.masked_fill(~mask_BS.bool().unsqueeze(-1), torch.finfo(logits_BS2.dtype).min)
    # (B, S, 2) reads as B windows, S classes, 2 places
    return functional.cross_entropy(logits_BS2, labels_B2.long())


def classification_loss(logits_BC: Tensor, labels_B1: Tensor, mask_BS: Tensor) -> Tensor:
    return functional.cross_entropy(logits_BC, labels_B1.squeeze(-1).long())


def regression_loss(logits_B1: Tensor, labels_B1: Tensor, mask_BS: Tensor) -> Tensor:
    return functional.mse_loss(logits_B1, labels_B1)


LOSSES: dict[Kind, Loss] = {
    Kind.SPAN: span_loss,
    Kind.CLASSIFICATION: classification_loss,
    Kind.REGRESSION: regression_loss,
}
