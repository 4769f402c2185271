"""A head in training: its weights, its optimiser's moments, its position."""

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor, nn

from bv_search.heads.head import Head
from bv_search.scan.order import pass_length
from bv_search.scan.state import HeadState
from bv_search.scan.training import MICRO_BATCH


@dataclass(kw_only=True)
class Learner:
    state: HeadState  # as it was when it was attached
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
            state=state,
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
            trial=self.state.trial,
            config=self.state.config,
            shape=self.state.shape,
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
        return self.pass_length * self.state.config.training.epochs

    def saw(self, windows: int) -> None:
        self.position += 1
        self.pending += windows

    @property
    def due(self) -> bool:
        """A step is due when its batch is full, or its pass ends with a part of one."""
        accumulated = self.position % self.pass_length * MICRO_BATCH
        return accumulated % self.state.config.training.batch == 0

    def rate(self) -> float:
        return self.state.config.training.rate_at(self.position / self.total)
