"""Trains a pack: its learners go through each batch together."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from bv_search.heads.pack import Pack
from bv_search.scan.adam import Adam
from bv_search.scan.batch import Batch
from bv_search.scan.learner import Learner
from bv_search.scan.loss import LOSSES
from bv_search.scan.outcome import Diverged
from bv_search.tasks.task import Kind


class PackTrainer:
    """All copies of a learner are in one pack, and all its learners have as many."""

    def __init__(self, learners: Sequence[Learner], kind: Kind) -> None:
        self._kind = kind
        self._keep(learners)

    @property
    def learners(self) -> list[Learner]:
        return list(self._learners)

    @property
    def is_empty(self) -> bool:
        return not self._learners

    def learn(self, batch: Batch, labels_ND: Tensor, folds_N: Tensor | None = None) -> list[Diverged]:
        """One batch, and an optimiser's step where one is due; learners that diverged leave.

        No copy learns from the windows of its own fold.
        """
        if self.is_empty:
            return []
        weights_KN = None if folds_N is None else self._weights(folds_N)
        losses_K = self._accumulate(batch, labels_ND, weights_KN)
        finite = losses_K.view(len(self._learners), -1).isfinite().all(dim=1).tolist()
        lost = [
            Diverged(trial=learner.trial, position=learner.position)
            for learner, is_finite in zip(self._learners, finite, strict=True)
            if not is_finite
        ]
        if lost:
            self.dismiss({each.trial for each in lost})
        learned = None if weights_KN is None else weights_KN.sum(dim=1).int().tolist()
        for learner in self._learners:
            learner.saw(len(batch.lengths_N), learned)
        if due := [learner for learner in self._learners if learner.due]:
            self._adam.step(due)
        return lost

    def dismiss(self, trials: Collection[str]) -> None:
        """These have learned, or diverged; the others go on."""
        left = [learner for learner in self._learners if learner.trial not in trials]
        if len(left) < len(self._learners):
            self._keep(left)

    def _weights(self, folds_N: Tensor) -> Tensor:
        """How much each copy learns from each window."""
        copies_K = torch.arange(len(self._learners[0].heads), device=folds_N.device)
        return (folds_N != copies_K[:, None]).float()

    def _accumulate(self, batch: Batch, labels_ND: Tensor, weights_KN: Tensor | None) -> Tensor:
        """Add this batch's gradients to each head's; the sum of its losses, for each head."""
        outputs = self._pack(batch.states, batch.lengths_N, step=self._learners[0].position)
        logits = torch.stack(outputs, dim=1).transpose(0, 1)  # as losses and packs keep them in memory
        if weights_KN is not None:
            weights_KN = weights_KN.repeat(len(self._learners), 1)
        smoothing_K = self._smoothing(logits.device)
        losses_K = LOSSES[self._kind](logits, batch.lengths_N, labels_ND, smoothing_K, weights_KN)
        torch.autograd.backward(losses_K.sum())
        return losses_K.detach()

    def _keep(self, learners: Sequence[Learner]) -> None:
        self._learners = list(learners)
        if self._learners:
            self._pack = Pack([head for learner in self._learners for head in learner.heads])
            self._adam = Adam(self._learners)

    def _smoothing(self, device: torch.device) -> Tensor | None:
        shares = [n.config.training.label_smoothing for n in self._learners for _ in n.heads]
        return torch.tensor(shares, device=device) if any(shares) else None
