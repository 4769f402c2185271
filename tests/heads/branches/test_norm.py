"""Batch norm goes by the micro-batch while training, by what it remembers while scoring."""

import torch
from torch import Tensor

from bv_search.heads.branches.norm import BatchNorm


def batches(count: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    return [5.0 + 2.0 * torch.randn(200, 3, generator=generator) for _ in range(count)]


def test_training_norms_the_batch_itself() -> None:
    (x_TF,) = batches(1)

    normed = BatchNorm(3)(x_TF, 7)

    torch.testing.assert_close(normed.mean(dim=0), torch.zeros(3), atol=1e-5, rtol=0.0)
    torch.testing.assert_close(normed.var(dim=0, correction=0), torch.ones(3), atol=1e-3, rtol=0.0)


def test_scoring_changes_nothing_and_knows_the_training_data_after_few_steps() -> None:
    norm = BatchNorm(3)
    for step, x_TF in enumerate(batches(4)):
        norm(x_TF, step)
    before = {name: tensor.clone() for name, tensor in norm.state_dict().items()}

    normed = norm(torch.cat(batches(4)), None)

    assert all(torch.equal(tensor, before[name]) for name, tensor in norm.state_dict().items())
    torch.testing.assert_close(norm.mean_F, torch.full((3,), 5.0), atol=0.2, rtol=0.0)
    torch.testing.assert_close(normed.mean(dim=0), torch.zeros(3), atol=0.05, rtol=0.0)
    torch.testing.assert_close(normed.std(dim=0), torch.ones(3), atol=0.05, rtol=0.0)


def test_every_micro_batch_counts_alike_however_many_there_were() -> None:
    norm, seen = BatchNorm(3), batches(60)
    for step, x_TF in enumerate(seen):
        norm(x_TF, step)

    torch.testing.assert_close(norm.mean_F, torch.cat(seen).mean(dim=0), atol=1e-4, rtol=0.0)


def test_places_along_a_width_count_like_tokens() -> None:
    (x_TF,) = batches(1)
    x_TFW = x_TF.view(50, 4, 3).transpose(1, 2)

    by_place = BatchNorm(3)(x_TFW, 0).transpose(1, 2).reshape(200, 3)

    torch.testing.assert_close(by_place, BatchNorm(3)(x_TF, 0))


def test_a_single_token_is_normed_by_what_is_remembered() -> None:
    norm = BatchNorm(3)

    normed = norm(torch.full((1, 3), 2.0), 0)

    torch.testing.assert_close(normed, torch.full((1, 3), 2.0), rtol=1e-3, atol=0.0)
    assert torch.equal(norm.mean_F, torch.zeros(3))
