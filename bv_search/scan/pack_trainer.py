"""Trains a pack: copies of heads go through each batch together."""

from collections.abc import Collection, Sequence

import torch
from torch import Tensor

from bv_search.heads.pack import Pack
from bv_search.scan.adam import Adam
from bv_search.scan.batch import Batch
from bv_search.scan.learner import LearningCopy
from bv_search.scan.loss import LOSSES
from bv_search.tasks.task import Kind


class PackTrainer:
    """No copy depends on the others. Those of one head may be in several packs."""

    def __init__(self, copies: Sequence[LearningCopy], kind: Kind) -> None:
        self._kind = kind
        self._keep(copies)

    @property
    def is_empty(self) -> bool:
        return not self._copies

    def learn(self, batch: Batch, labels_ND: Tensor, folds_N: Tensor | None = None) -> list[LearningCopy]:
        """One batch, and an optimiser's step where one is due; copies that diverged leave, and are told.

        No copy learns from the windows of its own fold.
        """
        if self.is_empty:
            return []
        weights_KN = None if folds_N is None else (folds_N != self._numbers_K[:, None]).float()
        losses_K = self._accumulate(batch, labels_ND, weights_KN)
        finite = losses_K.isfinite().tolist()
        learned = [None] * len(finite) if weights_KN is None else weights_KN.sum(dim=1).int().tolist()
        lost = [copy for copy, is_finite in zip(self._copies, finite, strict=True) if not is_finite]
        for copy, windows in zip(self._copies, learned, strict=True):
            if copy not in lost:
                copy.saw(len(batch.lengths_N), windows)
        if lost:
            self.dismiss(lost)
        if due := [copy for copy in self._copies if copy.due]:
            self._adam.step(due)
        return lost

    def dismiss(self, copies: Collection[LearningCopy]) -> None:
        """These have learned, or diverged; the others go on."""
        left = [copy for copy in self._copies if copy not in copies]
        if len(left) < len(self._copies):
            self._keep(left)

    def _accumulate(self, batch: Batch, labels_ND: Tensor, weights_KN: Tensor | None) -> Tensor:
        """Add this batch's gradients to each copy's; the sum of its losses, for each copy."""
        outputs = self._pack(batch.states, batch.lengths_N, step=self._copies[0].position)
        logits = torch.stack(outputs, dim=1).transpose(0, 1)  # as losses and packs keep them in memory
        losses_K = LOSSES[self._kind](logits, batch.lengths_N, labels_ND, self._smoothing_K, weights_KN)
        torch.autograd.backward((losses_K * self._shares_K).sum())
        return losses_K.detach()

    def _keep(self, copies: Sequence[LearningCopy]) -> None:
        self._copies = list(copies)
        if not self._copies:
            return
        self._pack = Pack([copy.head for copy in self._copies])
        self._adam = Adam(self._copies)
        device = self._copies[0].head.bias_C.device
        self._numbers_K = torch.tensor([copy.number for copy in self._copies], device=device)
        # of values of any unit gradients are as large as of standardised ones: Adam adds a constant to them
        self._shares_K = torch.tensor([copy.head.unit**-2 for copy in self._copies], device=device)
        shares = [copy.training.label_smoothing for copy in self._copies]
        self._smoothing_K = torch.tensor(shares, device=device) if any(shares) else None
