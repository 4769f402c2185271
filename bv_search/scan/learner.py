"""A head in training: its weights, its optimiser's moments, its position, and the best weights it had.

With folds it has several copies, which go one way together and each learn from other rows.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from typing import Self

import torch
from torch import Tensor, nn

from bv_search.heads.config import HeadShape
from bv_search.heads.copies import name_parameters
from bv_search.heads.head import Head
from bv_search.heads.inputs import Standard
from bv_search.scan.checks import Check, Checks
from bv_search.scan.course import Course
from bv_search.scan.state import HeadState, own_weights, seeds_of
from bv_search.scan.training import TrainingConfig
from bv_search.scan.trial import TrialConfig
from bv_search.store.layout import MICRO_BATCH


@dataclass(kw_only=True, eq=False)
class LearningCopy:
    """One copy of a head: its weights, its optimiser's moments, and where it stands."""

    number: int  # of its own fold, which it does not learn from
    training: TrainingConfig
    course: Course
    head: Head
    names: list[str]  # of its tensors among those of all copies
    parameters: list[nn.Parameter]
    mean: list[Tensor]
    square: list[Tensor]
    average: list[Tensor]  # the running mean of the parameters
    position: int
    steps: int
    pending: int  # windows whose gradients wait for the next step
    decays: list[bool] = field(init=False)  # whether weight decay pulls at each parameter
    _begun: int = field(init=False)  # the border of its course that it passed last
    _until: int = field(init=False)  # the next one

    def __post_init__(self) -> None:
        self.decays = [decays(*named) for named in zip(self.names, self.parameters, strict=True)]
        self._begun, self._until = self.course.last_border(self.position), -1
        self._look_ahead()

    def saw(self, windows: int, learned: int | None = None) -> None:
        """So many windows; it learned from so many of them, or from all."""
        self._look_ahead()
        self.position += -(-windows // MICRO_BATCH)
        self.pending += windows if learned is None else learned

    def stepped(self) -> None:
        """What was pending has been learned."""
        self.pending = 0

    @property
    def averages(self) -> bool:
        """Whether the running mean of its weights is what is judged and kept."""
        return self.course.is_open and self.training.averaging > 0

    def averaged_share(self) -> float:
        """Of the weights after a step in their running mean; the first steps count more, or it would lag."""
        if not self.averages:
            return 1.0
        return 1.0 - min(self.training.averaging, (1 + self.steps) / (10 + self.steps))

    def swap(self) -> None:
        """Weights and their running mean change places: once to be judged, once more to go on."""
        for parameter, average in zip(self.parameters, self.average, strict=True):
            kept = parameter.data.clone()
            parameter.data.copy_(average)
            average.copy_(kept)

    @property
    def due(self) -> bool:
        """A step is due when its batch is full, or its course has a border here."""
        return self.position == self._until or (self.position - self._begun) % self._step_length == 0

    def rate(self) -> float:
        """Of the step that is due: what its schedule says in the middle of it, so that none has rate zero."""
        length = (self.position - 1 - self._begun) % self._step_length + 1  # the last may be shorter
        return self.training.rate_at((self.position - length / 2) / self.course.end)

    def _look_ahead(self) -> None:
        if self.position >= self._until:
            self._begun = max(self._begun, self._until)
            self._until = self.course.next_border(self.position)

    @property
    def _step_length(self) -> int:
        """Micro-batches of a full step."""
        return self.training.batch // MICRO_BATCH


@dataclass(kw_only=True)
class Learner:
    trial: str
    config: TrialConfig
    shape: HeadShape
    course: Course
    copies: list[LearningCopy]
    checks: Checks
    best_weights: Mapping[str, Tensor]
    new_checks: list[Check] = field(default_factory=list)  # since it was attached

    @classmethod
    def attach(cls, state: HeadState, *, windows: int, standard: Standard, device: torch.device) -> Self:
        heads = [head.to(device) for head in state.heads(standard)]
        training = state.config.training
        for head, seed in zip(heads, seeds_of(training.seed, state.copies), strict=True):
            head.use_dropout(training.dropout, seed)
        course = Course.of(training, windows)
        return cls(
            trial=state.trial,
            config=state.config,
            shape=state.shape,
            course=course,
            copies=[
                _attached(state, number, head, own, course)
                for number, (head, own) in enumerate(zip(heads, name_parameters(heads), strict=True))
            ],
            checks=state.checks,
            best_weights=state.best_weights,
        )

    def detach(self) -> HeadState:
        def named(of: Callable[[LearningCopy], Sequence[Tensor]]) -> dict[str, Tensor]:
            pairs = (zip(copy.names, of(copy), strict=True) for copy in self.copies)
            return {name: _copy(tensor) for name, tensor in chain.from_iterable(pairs)}

        first, is_pending = self.copies[0], any(copy.pending for copy in self.copies)
        return HeadState(
            trial=self.trial,
            config=self.config,
            shape=self.shape,
            position=first.position,
            steps=first.steps,
            pending=tuple(copy.pending for copy in self.copies),
            checks=self.checks,
            weights=self._weights(),
            mean=named(lambda copy: copy.mean),
            square=named(lambda copy: copy.square),
            average=named(lambda copy: copy.average) if first.averages else {},
            gradient=named(_gradients) if is_pending else {},
            best_weights=self.best_weights,
        )

    @property
    def heads(self) -> list[Head]:
        return [copy.head for copy in self.copies]

    @property
    def position(self) -> int:
        """Where all copies stand between two stretches of a segment."""
        return self.copies[0].position

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

    def _weights(self) -> dict[str, Tensor]:
        return {name: _copy(tensor) for name, tensor in own_weights(self.heads).items()}


@contextmanager
def averaged(learners: Sequence[Learner]) -> Iterator[None]:
    """What is judged of a head is the running mean of its weights, if it has one."""
    averaging = [copy for learner in learners for copy in learner.copies if copy.averages]
    for copy in averaging:
        copy.swap()
    yield
    for copy in averaging:
        copy.swap()


def _attached(
    state: HeadState, number: int, head: Head, names: Sequence[str], course: Course
) -> LearningCopy:
    device = head.bias_C.device
    parameters = list(head.parameters())
    for name, parameter in zip(names, parameters, strict=True):
        if name in state.gradient:
            parameter.grad = state.gradient[name].to(device, copy=True)
    return LearningCopy(
        number=number,
        training=state.config.training,
        course=course,
        head=head,
        names=list(names),
        parameters=parameters,
        mean=[state.mean[name].to(device, copy=True) for name in names],
        square=[state.square[name].to(device, copy=True) for name in names],
        average=[
            state.average.get(name, parameter.data).to(device, copy=True)
            for name, parameter in zip(names, parameters, strict=True)
        ],
        position=state.position,
        steps=state.steps,
        pending=state.pending[number],
    )


def _gradients(copy: LearningCopy) -> list[Tensor]:
    """A copy that has learned from none of the pending windows has one of zeros."""
    return [torch.zeros_like(p) if p.grad is None else p.grad for p in copy.parameters]


def decays(name: str, parameter: Tensor) -> bool:
    """Matrices do: biases and layer mixes are not pulled to zero."""
    return parameter.dim() > 1 and not name.rpartition(".")[2].startswith("bias")


def _copy(tensor: Tensor) -> Tensor:
    """Apart from what goes on learning."""
    return tensor.detach().to("cpu", copy=True).contiguous()
