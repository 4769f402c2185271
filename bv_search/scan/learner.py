"""A head in training: its weights, its optimiser's moments, its position, and the best weights it had.

With folds that is all its copies, which go one way together and each learn from other rows.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Self

import torch
from torch import Tensor, nn

from bv_search.heads.config import HeadShape
from bv_search.heads.copies import join_tensors
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.scan.checks import Check, Checks
from bv_search.scan.course import Course
from bv_search.scan.state import HeadState, own_weights, seeds_of
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MICRO_BATCH


@dataclass(kw_only=True)
class Learner:
    trial: str
    config: TrialConfig
    shape: HeadShape
    course: Course
    heads: list[Head]  # its copies
    names: list[str]
    parameters: list[nn.Parameter]  # of all copies, one after the other
    owners: list[int]  # which copy each is of
    decays: list[bool]  # whether weight decay pulls at each parameter
    mean: list[Tensor]
    square: list[Tensor]
    average: list[Tensor]  # the running mean of the parameters
    position: int
    steps: int
    pending: list[int]  # of each copy
    checks: Checks
    best_weights: Mapping[str, Tensor]
    new_checks: list[Check] = field(default_factory=list)  # since it was attached
    _begun: int = field(init=False)  # the border of its course that it passed last
    _until: int = field(init=False)  # the next one

    def __post_init__(self) -> None:
        self._begun, self._until = self.course.last_border(self.position), -1
        self._look_ahead()

    @classmethod
    def attach(cls, state: HeadState, *, windows: int, standard: Standard, device: torch.device) -> Self:
        heads = [head.to(device) for head in state.heads(standard)]
        training = state.config.training
        for head, seed in zip(heads, seeds_of(training.seed, state.copies), strict=True):
            head.use_dropout(training.dropout, seed)
        named = join_tensors([dict(head.named_parameters()) for head in heads])
        parameters = [parameter for head in heads for parameter in head.parameters()]
        for name, parameter in zip(named, parameters, strict=True):
            if name in state.gradient:
                parameter.grad = state.gradient[name].to(device, copy=True)
        return cls(
            trial=state.trial,
            config=state.config,
            shape=state.shape,
            course=Course.of(training, windows),
            heads=heads,
            names=list(named),
            parameters=parameters,
            owners=[copy for copy, head in enumerate(heads) for _ in head.parameters()],
            decays=[decays(name, parameter) for name, parameter in named.items()],
            mean=[state.mean[name].to(device, copy=True) for name in named],
            square=[state.square[name].to(device, copy=True) for name in named],
            average=[state.average.get(name, p.data).to(device, copy=True) for name, p in named.items()],
            position=state.position,
            steps=state.steps,
            pending=list(state.pending),
            checks=state.checks,
            best_weights=state.best_weights,
        )

    def detach(self) -> HeadState:
        def named(tensors: list[Tensor]) -> dict[str, Tensor]:
            return {n: _copy(t) for n, t in zip(self.names, tensors, strict=True)}

        gradients = [p.grad for p in self.parameters if p.grad is not None]
        return HeadState(
            trial=self.trial,
            config=self.config,
            shape=self.shape,
            position=self.position,
            steps=self.steps,
            pending=tuple(self.pending),
            checks=self.checks,
            weights=self._weights(),
            mean=named(self.mean),
            square=named(self.square),
            average=named(self.average) if self.averages else {},
            gradient=named(gradients) if any(self.pending) else {},
            best_weights=self.best_weights,
        )

    def saw(self, windows: int, learned: Sequence[int] | None = None) -> None:
        """So many windows; each copy learned from so many of them, or from all."""
        self._look_ahead()
        self.position += -(-windows // MICRO_BATCH)
        learned = learned or [windows] * len(self.heads)
        self.pending = [waiting + more for waiting, more in zip(self.pending, learned, strict=True)]

    def stepped(self) -> None:
        """What was pending has been learned."""
        self.pending = [0] * len(self.heads)

    @property
    def averages(self) -> bool:
        """Whether the running mean of its weights is what is judged and kept."""
        return self.course.is_open and self.config.training.averaging > 0

    def averaged_share(self) -> float:
        """Of the weights after a step in their running mean; the first steps count more, or it would lag."""
        if not self.averages:
            return 1.0
        return 1.0 - min(self.config.training.averaging, (1 + self.steps) / (10 + self.steps))

    def swap(self) -> None:
        """Weights and their running mean change places: once to be judged, once more to go on."""
        for parameter, average in zip(self.parameters, self.average, strict=True):
            kept = parameter.data.clone()
            parameter.data.copy_(average)
            average.copy_(kept)

    def judged(self, check: Check) -> None:
        """Keep these weights, if it never was better."""
        if self.checks.beaten_by(check):
            self.keep()
        self.checks = self.checks.after(check)
        self.new_checks.append(check)

    def keep(self) -> None:
        """Take these weights for its best."""
        self.best_weights = self._weights()

    @property
    def has_learned(self) -> bool:
        """Nothing more is gained by going on."""
        return self.course.is_open and self.checks.idle >= self.config.training.patience

    @property
    def due(self) -> bool:
        """A step is due when its batch is full, or its course has a border here."""
        return self.position == self._until or (self.position - self._begun) % self._step_length == 0

    def rate(self) -> float:
        """Of the step that is due: what its schedule says in the middle of it, so that none has rate zero."""
        length = (self.position - 1 - self._begun) % self._step_length + 1  # the last may be shorter
        return self.config.training.rate_at((self.position - length / 2) / self.course.end)

    def _weights(self) -> dict[str, Tensor]:
        return {name: _copy(tensor) for name, tensor in own_weights(self.heads).items()}

    def _look_ahead(self) -> None:
        if self.position >= self._until:
            self._begun = max(self._begun, self._until)
            self._until = self.course.next_border(self.position)

    @property
    def _step_length(self) -> int:
        """Micro-batches of a full step."""
        return self.config.training.batch // MICRO_BATCH


def decays(name: str, parameter: Tensor) -> bool:
    """Matrices do: biases and layer mixes are not pulled to zero."""
    return parameter.dim() > 1 and not name.rpartition(".")[2].startswith("bias")


def _copy(tensor: Tensor) -> Tensor:
    """Apart from what goes on learning."""
    return tensor.detach().to("cpu", copy=True).contiguous()
