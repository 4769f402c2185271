import math

import pytest
import torch

from bv_search.encoder.loss import LOSSES, span_loss
from bv_search.tasks.task import Kind


def test_a_span_loss_by_hand() -> None:
    logits = torch.log(torch.tensor([[[0.5, 0.25], [0.25, 0.5], [0.25, 0.25]]]))
    loss = span_loss(logits, torch.tensor([[0.0, 1.0]]), torch.ones(1, 3))
    assert loss.item() == pytest.approx(math.log(2))


def test_padding_takes_no_part_in_a_span_loss() -> None:
    logits = torch.randn(2, 5, 2)
    labels = torch.tensor([[0.0, 0.0], [1.0, 2.0]])
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 0, 0]])
    assert torch.allclose(span_loss(logits, labels, mask), span_loss(logits[:, :3], labels, mask[:, :3]))


def test_classification_and_regression_by_hand() -> None:
    mask = torch.ones(1, 1)
    logits = torch.log(torch.tensor([[0.2, 0.8]]))
    assert LOSSES[Kind.CLASSIFICATION](logits, torch.tensor([[1.0]]), mask).item() == pytest.approx(
        -math.log(0.8)
    )
    assert LOSSES[Kind.REGRESSION](torch.tensor([[3.0]]), torch.tensor([[5.0]]), mask).item() == 4.0
