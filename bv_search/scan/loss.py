"""What heads are trained on: the sum of the windows' losses, for each of K heads.

Heads share no parameters, so the gradient of the sum over heads is each head's own. Label smoothing
spreads a head's share of the target evenly: its loss grows by that share of (the target's logit - the mean).
Weights say how much a head learns from each window.
"""

from collections.abc import Callable
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from bv_search.tasks.task import Kind


class Loss(Protocol):
    """losses_K. Without smoothing no head has any, without weights each learns from all windows alike."""

    def __call__(
        self,
        logits: Tensor,
        lengths_N: Tensor,
        labels_ND: Tensor,
        smoothing_K: Tensor | None = None,
        weights_KN: Tensor | None = None,
        /,
    ) -> Tensor: ...


def span_losses(
    logits_KTC: Tensor,
    lengths_N: Tensor,
    labels_N2: Tensor,
    smoothing_K: Tensor | None = None,
    weights_KN: Tensor | None = None,
) -> Tensor:
    """Cross-entropy of the start and of the end over the tokens of each window, halved and added."""
    losses_K: Tensor = _SpanLosses.apply(  # type: ignore[no-untyped-call]
        logits_KTC, lengths_N, labels_N2.long(), smoothing_K, weights_KN
    )
    return losses_K


class _SpanLosses(torch.autograd.Function):
    """Forward and gradient written out: by autograd, padding there and back took five times as long.

    The heads of a token stand side by side, so that reductions over a window's tokens are wide.
    """

    @staticmethod
    def forward(
        ctx: Any,
        logits_KTC: Tensor,
        lengths_N: Tensor,
        labels_N2: Tensor,
        smoothing_K: Tensor | None,
        weights_KN: Tensor | None,
    ) -> Tensor:
        logits_TKC = logits_KTC.transpose(0, 1).contiguous()
        windows = list(torch.split(logits_TKC, lengths_N.tolist()))
        padded_NSKC = pad_sequence(windows, batch_first=True, padding_value=float("-inf"))
        norms_NKC = padded_NSKC.logsumexp(dim=1)
        targets = _targets(lengths_N, labels_N2)
        losses_NCK = norms_NKC.transpose(1, 2) - logits_TKC[targets]
        if smoothing_K is not None:
            means_NCK = torch.stack([window.mean(dim=0) for window in windows]).transpose(1, 2)
            losses_NCK += smoothing_K * (logits_TKC[targets] - means_NCK)
        if weights_KN is not None:
            losses_NCK *= weights_KN.T[:, None]
        ctx.save_for_backward(logits_TKC, lengths_N, norms_NKC, smoothing_K, weights_KN)
        ctx.targets = targets
        return losses_NCK.sum(dim=(0, 1)) / 2

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_K: Tensor) -> Any:
        logits_TKC, lengths_N, norms_NKC, smoothing_K, weights_KN = ctx.saved_tensors
        grads_TKC = (logits_TKC - norms_NKC.repeat_interleave(lengths_N, dim=0)).exp_()
        if smoothing_K is None:
            grads_TKC[ctx.targets] -= 1.0
        else:
            grads_TKC[ctx.targets] -= 1.0 - smoothing_K
            shares_T = (1.0 / lengths_N).repeat_interleave(lengths_N)
            grads_TKC -= (shares_T[:, None] * smoothing_K)[:, :, None]
        grads_TKC *= grad_K[:, None] / 2
        if weights_KN is not None:
            grads_TKC *= weights_KN.T.repeat_interleave(lengths_N, dim=0)[:, :, None]
        return grads_TKC.transpose(0, 1), None, None, None, None


def _targets(lengths_N: Tensor, labels_N2: Tensor) -> tuple[Tensor, slice, Tensor]:
    """Where in logits_TKC the true starts and ends stand; what it takes is (N, C, K)."""
    firsts_N = lengths_N.cumsum(0) - lengths_N
    return firsts_N[:, None] + labels_N2, slice(None), torch.arange(2, device=labels_N2.device)


def classification_losses(
    logits_KNC: Tensor,
    lengths_N: Tensor,
    labels_N1: Tensor,
    smoothing_K: Tensor | None = None,
    weights_KN: Tensor | None = None,
) -> Tensor:
    heads, windows, classes = logits_KNC.shape
    targets = labels_N1.long().expand(windows, 1).repeat(heads, 1)
    logits = logits_KNC.reshape(heads * windows, classes)
    losses = functional.cross_entropy(logits, targets.squeeze(1), reduction="none").view(heads, windows)
    if smoothing_K is not None:
        above = logits.gather(1, targets).squeeze(1) - logits.mean(dim=1)
        losses = losses + smoothing_K[:, None] * above.view(heads, windows)
    if weights_KN is not None:
        losses = losses * weights_KN
    return losses.sum(dim=1)


def regression_losses(
    logits_KN1: Tensor,
    lengths_N: Tensor,
    labels_N1: Tensor,
    smoothing_K: Tensor | None = None,
    weights_KN: Tensor | None = None,
) -> Tensor:
    losses_KN1 = (logits_KN1 - labels_N1).square()
    if weights_KN is not None:
        losses_KN1 = losses_KN1 * weights_KN[:, :, None]
    return losses_KN1.sum(dim=(1, 2))


LOSSES: dict[Kind, Loss] = {
    Kind.SPAN: span_losses,
    Kind.CLASSIFICATION: classification_losses,
    Kind.REGRESSION: regression_losses,
}


def class_logs(labels_N1: Tensor, outputs: int) -> Tensor:
    """How frequent each class is. One that is not among the labels counts as half a row."""
    counts_C = torch.bincount(labels_N1[:, 0].long(), minlength=outputs).float().clamp_(min=0.5)
    logs_C = counts_C.log()
    return logs_C - logs_C.mean()


CONSTANTS: dict[Kind, Callable[[Tensor, int], Tensor]] = {
    Kind.SPAN: lambda labels_N2, outputs: torch.zeros(outputs),  # a constant over tokens says nothing
    Kind.CLASSIFICATION: class_logs,
    Kind.REGRESSION: lambda labels_N1, outputs: labels_N1.mean(dim=0),
}
"""The outputs of least loss that know nothing of a row, from the labels."""
