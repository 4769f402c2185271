"""Heads that ride along: they learn from the hidden states of each step, and touch nothing of it.

Their states come without gradients, and their chance from seeds of their own, so the encoder becomes what it
becomes without them. What they have learned at a stage depends on no other stage, and on no interruption.
"""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import chain
from operator import methodcaller
from types import TracebackType
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from bv_search.encoder.training import Step
from bv_search.finetune.gathering import Gathering, Met
from bv_search.finetune.running import RunningStandard
from bv_search.heads.config import HeadShape
from bv_search.heads.head import Head
from bv_search.heads.inputs import Inputs, prepare, value_moments
from bv_search.scan.batch import Batch
from bv_search.scan.lanes import Lanes
from bv_search.scan.learner import Learner, LearningCopy, averaged
from bv_search.scan.loss import CONSTANTS
from bv_search.scan.outcome import Diverged
from bv_search.scan.pack_trainer import PackTrainer
from bv_search.scan.state import HeadState
from bv_search.scan.trial import TrialConfig
from bv_search.source.channels import Channels
from bv_search.store.layout import MICRO_BATCH
from bv_search.tasks.task import Kind

NO_END = 1 << 40  # windows: a course that is never at its end, nor at any border on its way


@dataclass(frozen=True, kw_only=True)
class RideSetting:
    """What heads ride on."""

    channels: Channels
    shape: HeadShape
    kind: Kind
    labels_ND: np.ndarray  # of the windows that the encoder is trained on
    device: torch.device
    dtype: torch.dtype  # of their wide products


@dataclass(frozen=True, kw_only=True)
class Rider:
    """A head where it stands at a stage: judged by the running mean of its weights, as in a search."""

    trial: str
    config: TrialConfig
    position: int  # micro-batches that it has learned from
    head: Head


class Riders:
    """A context: its threads end with it."""

    def __init__(self, heads: Sequence[TrialConfig], setting: RideSetting) -> None:
        self.seconds = 0.0
        self._setting = setting
        values = value_moments(setting.labels_ND) if setting.shape.is_value else None
        self._running = RunningStandard(setting.shape.layers, setting.shape.width, setting.device, values)
        self._lost: dict[str, Diverged] = {}
        self._fill([self._fresh(f"{number:04d}", head) for number, head in enumerate(heads)])

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for team in self._teams:
                stack.enter_context(team.lanes)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def __len__(self) -> int:
        return len(self._learners) - len(self._lost)

    @property
    def lost(self) -> list[Diverged]:
        return list(self._lost.values())

    def learn(self, step: Step) -> None:
        """From the windows of a step, once there are enough of them."""
        assert step.states is not None, "the encoder is asked for its hidden states"
        begun = time.monotonic()
        channels = self._setting.channels
        met = Met(
            hidden_LTH=channels.join(step.states),
            lengths_N=torch.tensor(channels.kept(step.states.lengths), device=self._setting.device),
            labels_ND=torch.from_numpy(self._setting.labels_ND[step.windows]).to(self._setting.device),
        )
        self._running.update(met.hidden_LTH)
        for team in self._teams:
            for copy in team.learn(met, self._setting.dtype):
                (learner,) = (each for each in self._learners if copy in each.copies)
                self._lost[learner.trial] = Diverged(trial=learner.trial, position=copy.position)
        self.seconds += time.monotonic() - begun

    def _fresh(self, trial: str, head: TrialConfig) -> HeadState:
        """On standard inputs from the best constant answer, on raw ones from zero, as in a search."""
        setting = self._setting
        if not head.reads_standard:
            return HeadState.fresh(trial, head, setting.shape)
        constant_C = CONSTANTS[setting.kind](torch.from_numpy(setting.labels_ND), setting.shape.outputs)
        outputs_C = self._running.standard.outputs(constant_C.to(setting.device)).cpu()
        return HeadState.fresh(trial, head, setting.shape, outputs_C[None])

    def stand(self) -> list[Rider]:
        """Copies of those that have not diverged, as they are to be judged."""
        live = [learner for learner in self._learners if learner.trial not in self._lost]
        standard = self._running.frozen()
        with averaged(live):
            for learner in live:
                learner.keep()
        return [
            Rider(
                trial=learner.trial,
                config=learner.config,
                position=learner.position,
                head=learner.detach().heads(standard, at_best=True)[0].to(self._setting.device),
            )
            for learner in live
        ]

    def state(self) -> tuple[dict[str, Tensor], dict[str, bytes]]:
        """What waits and what standardises; and every head."""
        tensors = dict(_named("running", self._running.state()))
        for number, team in enumerate(self._teams):
            tensors |= _named(f"team-{number}", team.gathering.state())
        lost = {f"lost/{each.trial}": torch.tensor(each.position) for each in self.lost}
        return tensors | lost, {each.trial: each.detach().to_bytes() for each in self._learners}

    def restore(self, tensors: Mapping[str, Tensor], heads: Mapping[str, bytes]) -> None:
        """Before it is entered."""
        self._running.restore(_part(tensors, "running"))
        lost = _part(tensors, "lost")
        self._lost = {trial: Diverged(trial=trial, position=int(at)) for trial, at in lost.items()}
        self._fill([HeadState.from_bytes(heads[each.trial]) for each in self._learners])
        for number, team in enumerate(self._teams):
            team.gathering.restore(_part(tensors, f"team-{number}"))
            team.dismiss(
                [copy for each in self._learners if each.trial in self._lost for copy in each.copies]
            )

    def _fill(self, states: Iterable[HeadState]) -> None:
        setting = self._setting
        self._learners = [
            Learner.attach(state, windows=NO_END, standard=self._running.standard, device=setting.device)
            for state in states
        ]
        teams: dict[int, list[Learner]] = defaultdict(list)
        for learner in self._learners:
            # a step of one-token windows is a dozen tiny operations: it takes the head's whole batch
            one_token = setting.shape.tokens == 1
            teams[learner.config.training.batch if one_token else MICRO_BATCH].append(learner)
        self._teams = [_Team(own, portion, setting) for portion, own in teams.items()]


class _Team:
    """Heads that take the same windows at once."""

    def __init__(self, learners: Sequence[Learner], portion: int, setting: RideSetting) -> None:
        self.gathering = Gathering(portion)
        copies = [copy for learner in learners for copy in learner.copies]
        # of all heads, lost ones too: others beside it would round a head otherwise
        self.lanes = Lanes([copy.head for copy in copies], setting.device)
        self._trainers = [
            PackTrainer([copies[k] for k in group], setting.kind) for group in self.lanes.groups
        ]
        self._inputs: list[Inputs] = list(
            {id(copy.head.inputs): copy.head.inputs for copy in copies}.values()
        )

    def learn(self, met: Met, dtype: torch.dtype) -> list[LearningCopy]:
        """Copies that diverged leave, and are told."""
        lost: list[LearningCopy] = []
        for portion in self.gathering.add(met):
            batch = Batch(
                windows=np.arange(len(portion)),
                lengths_N=portion.lengths_N,
                states=prepare(portion.hidden_LTH.contiguous(), self._inputs, dtype),
            )
            learn = methodcaller("learn", batch, portion.labels_ND)
            lost += chain.from_iterable(self.lanes.run(learn, self._trainers))
        return lost

    def dismiss(self, copies: Sequence[LearningCopy]) -> None:
        for trainer in self._trainers:
            trainer.dismiss(copies)


def _named(name: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {f"{name}/{key}": tensor for key, tensor in tensors.items()}


def _part(tensors: Mapping[str, Tensor], name: str) -> dict[str, Tensor]:
    named: Iterator[tuple[Any, Tensor]] = ((key.partition("/"), tensor) for key, tensor in tensors.items())
    return {key: tensor for (first, _, key), tensor in named if first == name}
