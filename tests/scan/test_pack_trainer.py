"""Copies learn together from a batch, and each by itself."""

from collections.abc import Sequence
from typing import Any

import pytest
import torch
from torch import Tensor

from bv_search.heads.config import HeadShape
from bv_search.heads.inputs import Standard
from bv_search.scan.batch import Batch
from bv_search.scan.learner import Learner, LearningCopy
from bv_search.scan.pack_trainer import PackTrainer
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.tasks.task import Kind

SHAPE = HeadShape(layers=2, width=4, outputs=2, per_token=False)
LENGTHS = [1] * 16


def some(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def copies(*sizes: int, folds: int = 1, **settings: Any) -> list[LearningCopy]:
    """Of adapters of these sizes."""
    found: list[LearningCopy] = []
    for size in sizes:
        head = {"kind": "adapter", "size": size}
        config = TrialConfig.from_json({"head": head, "inputs": "raw", "passes": 1, **settings})
        state = HeadState.fresh(f"{size}", config, SHAPE, copies=folds)
        standard = Standard.empty(SHAPE.layers, SHAPE.width)
        found += Learner.attach(state, windows=160, standard=standard, device=torch.device("cpu")).copies
    return found


def batch(seed: int = 0) -> Batch:
    return Batch(
        windows=slice(0, 16), lengths_N=torch.tensor(LENGTHS), states={None: some(2, 16, 4, seed=seed)}
    )


def labels(seed: int = 1) -> Tensor:
    return (some(16, 1, seed=seed) > 0).float()


def weights(each: LearningCopy) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in each.parameters]


def gradients(copies: Sequence[LearningCopy]) -> list[list[Tensor]]:
    return [[p.grad.clone() for p in each.parameters if p.grad is not None] for each in copies]


def test_a_step_is_made_where_one_is_due() -> None:
    each = copies(3, batch=32)
    trainer, (copy,) = PackTrainer(each, Kind.CLASSIFICATION), each
    before = weights(copy)
    assert not trainer.learn(batch(), labels())
    assert (copy.position, copy.steps, copy.pending) == (1, 0, 16)
    assert all(torch.equal(now, then) for now, then in zip(weights(copy), before, strict=True))
    assert not trainer.learn(batch(1), labels())
    assert (copy.position, copy.steps, copy.pending) == (2, 1, 0)
    assert not all(torch.equal(now, then) for now, then in zip(weights(copy), before, strict=True))


def test_neighbours_change_nothing_that_is_learned() -> None:
    together, alone = copies(3, 5, 2), copies(5)
    beside, by_itself = (PackTrainer(each, Kind.CLASSIFICATION) for each in (together, alone))
    for seed in range(3):
        for trainer in (beside, by_itself):
            trainer.learn(batch(seed), labels(seed))
    torch.testing.assert_close(weights(together[1]), weights(alone[0]), rtol=1e-4, atol=1e-6)


def test_one_that_diverges_leaves_and_the_others_go_on() -> None:
    each = copies(3, 5)
    trainer = PackTrainer(each, Kind.CLASSIFICATION)
    each[0].parameters[0].data.fill_(float("nan"))
    assert trainer.learn(batch(), labels()) == [each[0]]
    assert (each[0].position, each[1].position, each[1].steps) == (0, 1, 1)
    assert not trainer.learn(batch(1), labels())
    assert (each[0].position, each[1].position) == (0, 2)
    assert all(tensor.isfinite().all() for tensor in weights(each[1]))


def test_nothing_is_learned_where_nobody_is_left() -> None:
    each = copies(3, 5)
    trainer = PackTrainer(each, Kind.CLASSIFICATION)
    trainer.dismiss(each[:1])
    trainer.learn(batch(), labels())
    assert [copy.position for copy in each] == [0, 1]
    trainer.dismiss(each)
    assert trainer.is_empty
    assert trainer.learn(batch(), labels()) == []
    assert [copy.position for copy in each] == [0, 1]


@pytest.mark.parametrize("fold", [0, 1])
def test_a_copy_hears_nothing_of_its_own_fold(fold: int) -> None:
    folds_N = torch.arange(16) % 2
    theirs_N1 = (folds_N == fold)[:, None]
    learned = []
    for changed in (labels(), torch.where(theirs_N1, 1 - labels(), labels())):
        each = copies(3, folds=2, batch=32)
        PackTrainer(each, Kind.CLASSIFICATION).learn(batch(), changed, folds_N)
        assert [copy.pending for copy in each] == [8, 8]
        learned.append(gradients(each))
    torch.testing.assert_close(learned[0][fold], learned[1][fold])
    assert not torch.allclose(learned[0][1 - fold][0], learned[1][1 - fold][0])


def test_labels_are_smoothed_for_those_that_want_it() -> None:
    def learned(*smoothing: float) -> list[list[Tensor]]:
        each = [copy for share in smoothing for copy in copies(3, batch=32, label_smoothing=share)]
        PackTrainer(each, Kind.CLASSIFICATION).learn(batch(), labels())
        return gradients(each)

    (plain,), (smoothed,), both = learned(0.0), learned(0.3), learned(0.0, 0.3)
    assert not torch.allclose(plain[0], smoothed[0])
    torch.testing.assert_close(both, [plain, smoothed])
