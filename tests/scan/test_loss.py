"""Losses of a pack are the losses that torch gives for each window by itself."""

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from bv_search.scan.loss import Loss, classification_losses, regression_losses, span_losses


def test_span_losses_see_only_a_windows_own_tokens() -> None:
    lengths = [3, 6, 2]
    logits_KTC = torch.randn(4, 11, 2)
    labels_N2 = torch.tensor([[0.0, 2.0], [1.0, 4.0], [0.0, 0.0]])

    expected = [
        sum(
            float(functional.cross_entropy(window[:, side], labels[side].long())) / 2
            for window, labels in zip(torch.split(head, lengths), labels_N2, strict=True)
            for side in range(2)
        )
        for head in logits_KTC
    ]

    found = span_losses(logits_KTC, torch.tensor(lengths), labels_N2)
    torch.testing.assert_close(found, torch.tensor(expected))


def test_classification_losses_are_cross_entropies() -> None:
    logits_KNC, labels_N1 = torch.randn(4, 5, 3), torch.tensor([[0.0], [2.0], [1.0], [1.0], [0.0]])

    found = classification_losses(logits_KNC, torch.ones(5), labels_N1)

    expected = [
        functional.cross_entropy(head, labels_N1[:, 0].long(), reduction="sum") for head in logits_KNC
    ]
    torch.testing.assert_close(found, torch.stack(expected))


def test_regression_losses_are_squares() -> None:
    logits_KN1 = torch.tensor([[[1.0], [2.0]], [[0.0], [5.0]]])

    found = regression_losses(logits_KN1, torch.ones(2), torch.tensor([[1.0], [4.0]]))

    assert found.tolist() == [4.0, 2.0]


def test_label_smoothing_is_each_heads_own() -> None:
    logits_KNC, labels_N1 = torch.randn(3, 5, 4), torch.tensor([[0.0], [2.0], [1.0], [3.0], [0.0]])
    shares = [0.0, 0.1, 0.5]

    found = classification_losses(logits_KNC, torch.ones(5), labels_N1, torch.tensor(shares))

    expected = [
        functional.cross_entropy(head, labels_N1[:, 0].long(), reduction="sum", label_smoothing=share)
        for head, share in zip(logits_KNC, shares, strict=True)
    ]
    torch.testing.assert_close(found, torch.stack(expected))


def test_spans_are_smoothed_over_a_windows_own_tokens() -> None:
    lengths = [3, 6, 2]
    logits_KTC, shares = torch.randn(2, 11, 2), [0.2, 0.0]
    labels_N2 = torch.tensor([[0.0, 2.0], [1.0, 4.0], [0.0, 0.0]])

    found = span_losses(logits_KTC, torch.tensor(lengths), labels_N2, torch.tensor(shares))

    expected = [
        sum(
            float(functional.cross_entropy(window[:, side], labels[side].long(), label_smoothing=share)) / 2
            for window, labels in zip(torch.split(head, lengths), labels_N2, strict=True)
            for side in range(2)
        )
        for head, share in zip(logits_KTC, shares, strict=True)
    ]
    torch.testing.assert_close(found, torch.tensor(expected))


@pytest.mark.parametrize("smoothing", [None, [0.2, 0.0]])
def test_spans_have_the_gradient_that_autograd_finds(smoothing: list[float] | None) -> None:
    lengths, grad_K = [3, 6, 2], torch.tensor([1.0, 3.0])
    logits_KTC = torch.randn(2, 11, 2, requires_grad=True)
    labels_N2 = torch.tensor([[0.0, 2.0], [1.0, 4.0], [0.0, 0.0]])
    shares_K = None if smoothing is None else torch.tensor(smoothing)

    (found,) = torch.autograd.grad(
        span_losses(logits_KTC, torch.tensor(lengths), labels_N2, shares_K), logits_KTC, grad_K
    )

    losses = [
        functional.cross_entropy(window[:, side], labels[side].long(), label_smoothing=share) * scale / 2
        for head, share, scale in zip(logits_KTC, smoothing or [0.0, 0.0], grad_K, strict=True)
        for window, labels in zip(torch.split(head, lengths), labels_N2, strict=True)
        for side in range(2)
    ]
    (expected,) = torch.autograd.grad(torch.stack(losses).sum(), logits_KTC)
    torch.testing.assert_close(found, expected)


def test_smoothing_leaves_finite_gradients_beside_padding() -> None:
    logits_KTC = torch.randn(1, 11, 2, requires_grad=True)
    lengths_N, labels_N2 = torch.tensor([3, 6, 2]), torch.zeros(3, 2)

    torch.autograd.backward(span_losses(logits_KTC, lengths_N, labels_N2, torch.tensor([0.1])).sum())

    assert logits_KTC.grad is not None
    assert logits_KTC.grad.isfinite().all()


WEIGHTS = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])


@pytest.mark.parametrize("smoothing", [None, [0.2, 0.0]])
def test_a_window_counts_in_each_head_as_much_as_it_weighs(smoothing: list[float] | None) -> None:
    """Of its losses and of its gradient: those of the other windows alone are left."""
    shares_K = None if smoothing is None else torch.tensor(smoothing)
    lengths_N, classes_N1 = torch.tensor([3, 6, 2]), torch.tensor([[0.0], [2.0], [1.0]])
    cases: list[tuple[Loss, Tensor, Tensor, list[int]]] = [
        (classification_losses, torch.randn(2, 3, 4), classes_N1, [1, 1, 1]),
        (regression_losses, torch.randn(2, 3, 1), classes_N1, [1, 1, 1]),
        (span_losses, torch.randn(2, 11, 2), torch.tensor([[0.0, 2.0], [1.0, 4.0], [0.0, 0.0]]), [3, 6, 2]),
    ]
    for losses, logits, labels_ND, rows in cases:
        whole = logits.requires_grad_()
        found_K = losses(whole, lengths_N, labels_ND, shares_K, WEIGHTS)
        (gradient,) = torch.autograd.grad(found_K.sum(), whole)
        for head, kept in enumerate(WEIGHTS.bool()):
            seen = kept.repeat_interleave(torch.tensor(rows))
            own = logits[head, seen].detach()[None].requires_grad_()
            share = None if shares_K is None else shares_K[head : head + 1]
            (expected,) = losses(own, lengths_N[kept], labels_ND[kept], share)
            torch.testing.assert_close(found_K[head], expected)
            (slope,) = torch.autograd.grad(expected, own)
            torch.testing.assert_close(gradient[head, seen], slope[0])
            assert not gradient[head, ~seen].any()
