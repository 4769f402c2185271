"""A head in training: its weights, its optimiser's moments, its position."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from bv_search.heads.config import HeadShape
from bv_search.heads.head import Head
from bv_search.scan.order import pass_length
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MICRO_BATCH


@dataclass(kw_only=True)
class Learner:
    trial: str
    config: TrialConfig
    shape: HeadShape
    head: Head
    names: list[str]
    parameters: list[nn.Parameter]
    mean: list[Tensor]
    square: list[Tensor]
    rows: int  # windows of one of its passes
    position: int
    steps: int
    pending: int

    @classmethod
    def attach(cls, state: HeadState, *, windows: int, device: torch.device) -> Self:
        head = state.head().to(device)
        head.use_dropout(state.config.training.dropout, state.config.training.seed)
        names = [name for name, _ in head.named_parameters()]
        parameters = list(head.parameters())
        for name, parameter in zip(names, parameters, strict=True):
            if name in state.gradient:
                parameter.grad = state.gradient[name].to(device, copy=True)
        return cls(
            trial=state.trial,
            config=state.config,
            shape=state.shape,
            head=head,
            names=names,
            parameters=parameters,
            mean=[state.mean[name].to(device, copy=True) for name in names],
            square=[state.square[name].to(device, copy=True) for name in names],
            rows=state.config.training.rows(windows),
            position=state.position,
            steps=state.steps,
            pending=state.pending,
        )

    def detach(self) -> HeadState:
        def named(tensors: list[Tensor]) -> dict[str, Tensor]:
            return {n: t.detach().cpu().contiguous() for n, t in zip(self.names, tensors, strict=True)}

        return HeadState(
            trial=self.trial,
            config=self.config,
            shape=self.shape,
            position=self.position,
            steps=self.steps,
            pending=self.pending,
            weights={n: t.detach().cpu().contiguous() for n, t in self.head.state_dict().items()},
            mean=named(self.mean),
            square=named(self.square),
            gradient={
                n: p.grad.cpu()
                for n, p in zip(self.names, self.parameters, strict=True)
                if p.grad is not None
            },
        )

    @property
    def pass_length(self) -> int:
        return pass_length(self.rows)

    @property
    def total(self) -> int:
        """Micro-batches of all its passes."""
        return self.pass_length * self.config.training.epochs

    def saw(self, windows: int) -> None:
        self.position += 1
        self.pending += windows

    @property
    def due(self) -> bool:
        """A step is due when its batch is full, or its pass ends with a part of one."""
        return self.position % self.pass_length % self._step_length == 0

    def rate(self) -> float:
        """Of the step that is due: what its schedule says in the middle of it, so that none has rate zero."""
        in_pass = (self.position - 1) % self.pass_length
        length = in_pass % self._step_length + 1  # the last step of a pass may be shorter than the others
        return self.config.training.rate_at((self.position - length / 2) / self.total)

    @property
    def _step_length(self) -> int:
        """Micro-batches of a full step."""
        return self.config.training.batch // MICRO_BATCH
