"""What heads are trained on: the sum of the windows' losses, for each of K heads.

Heads share no parameters, so the gradient of the sum over heads is each head's own. Label smoothing
spreads a head's share of the target evenly: its loss grows by that share of (the target's logit - the mean).
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional

from bv_search.tasks.task import Kind

# logits, lengths_N, labels, smoothing_K (None: no head has any) → losses_K
Loss = Callable[[Tensor, Tensor, Tensor, Tensor | None], Tensor]


def span_losses(
    logits_KTC: Tensor, lengths_N: Tensor, labels_N2: Tensor, smoothing_K: Tensor | None = None
) -> Tensor:
    """Cross-entropy of the start and of the end over the tokens of each window, halved and added."""
    firsts_N = lengths_N.cumsum(0) - lengths_N
    targets_N2 = firsts_N[:, None] + labels_N2.long()
    columns = torch.arange(2, device=logits_KTC.device)
    hits_KN2 = logits_KTC[:, targets_N2, columns]
    padded_KNSC = _pad_windows(logits_KTC, lengths_N)
    losses_KN2 = padded_KNSC.logsumexp(dim=2) - hits_KN2
    if smoothing_K is not None:
        sums_KN2 = padded_KNSC.masked_fill(padded_KNSC == float("-inf"), 0.0).sum(dim=2)
        losses_KN2 = losses_KN2 + smoothing_K[:, None, None] * (hits_KN2 - sums_KN2 / lengths_N[:, None])
    return losses_KN2.sum(dim=(1, 2)) / 2


def _pad_windows(logits_KTC: Tensor, lengths_N: Tensor) -> Tensor:
    """logits_KNSC: a window's own tokens, then -inf. Small, so padding costs nothing here."""
    longest = int(lengths_N.max())
    slots_S = torch.arange(longest, device=logits_KTC.device)
    inside_NS = slots_S < lengths_N[:, None]
    firsts_N = lengths_N.cumsum(0) - lengths_N
    tokens_NS = torch.where(inside_NS, firsts_N[:, None] + slots_S, 0)
    return logits_KTC[:, tokens_NS].masked_fill(~inside_NS[None, :, :, None], float("-inf"))


def classification_losses(
    logits_KNC: Tensor, lengths_N: Tensor, labels_N1: Tensor, smoothing_K: Tensor | None = None
) -> Tensor:
    heads, windows, classes = logits_KNC.shape
    targets = labels_N1.long().expand(windows, 1).repeat(heads, 1)
    logits = logits_KNC.reshape(heads * windows, classes)
    losses = functional.cross_entropy(logits, targets.squeeze(1), reduction="none").view(heads, windows)
    if smoothing_K is not None:
        above = logits.gather(1, targets).squeeze(1) - logits.mean(dim=1)
        losses = losses + smoothing_K[:, None] * above.view(heads, windows)
    return losses.sum(dim=1)


def regression_losses(
    logits_KN1: Tensor, lengths_N: Tensor, labels_N1: Tensor, smoothing_K: Tensor | None = None
) -> Tensor:
    return (logits_KN1 - labels_N1).square().sum(dim=(1, 2))


LOSSES: dict[Kind, Loss] = {
    Kind.SPAN: span_losses,
    Kind.CLASSIFICATION: classification_losses,
    Kind.REGRESSION: regression_losses,
}
