"""The selection of members: everything here looks only at the rows that choose."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
import pyarrow as pa

from bv_search.model.combine import Method, max_of
from bv_search.tasks.task import Task
from bv_search.tasks.votes import Votes, loss_of, mean_of

ROUNDS = 12  # of greedy selection


@dataclass(frozen=True, kw_only=True)
class Selection:
    """Members by number among the candidates, with the weight of each, and what they score together."""

    method: Method
    members: tuple[tuple[int, float], ...]
    score: float


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What all candidates say of the rows that choose; the encoder is the last one, where there is one."""

    task: Task
    index: pa.Table
    votes: Sequence[Votes]
    alone: Sequence[float]  # what each scores by itself
    encoder: int | None

    @classmethod
    def of(
        cls, task: Task, index: pa.Table, logits: Sequence[Sequence[np.ndarray]], *, encoder: bool
    ) -> Self:
        return cls(
            task=task,
            index=index,
            votes=[Votes.of(each, task.kind) for each in logits],
            alone=[task.evaluate(index, each).score for each in logits],
            encoder=len(logits) - 1 if encoder else None,
        )

    def best(self, limit: int) -> list[int]:
        """The best heads, best first; of equals the one that was named first. The encoder comes last."""
        ranked = sorted(self.heads, key=lambda head: -self.alone[head])[:limit]
        return ranked if self.encoder is None else [*ranked, self.encoder]

    def among(self, members: Sequence[int]) -> Self:
        """The same of some, in this order; the encoder, where there is one, is the last of them."""
        return replace(
            self,
            votes=[self.votes[member] for member in members],
            alone=[self.alone[member] for member in members],
            encoder=None if self.encoder is None else len(members) - 1,
        )

    @property
    def heads(self) -> range:
        return range(len(self.votes) - (self.encoder is not None))

    @cached_property
    def truths(self) -> list[np.ndarray]:
        """truth_ND of each."""
        labels_ND = np.stack(self.index["label"].to_numpy())
        return [votes.truth(labels_ND, self.task.kind) for votes in self.votes]

    @property
    def best_alone(self) -> int:
        return int(np.argmax(self.alone))

    def loss(self, chosen: Sequence[int]) -> float:
        """Of the mean of these, each of which weighs as much as it is often there."""
        total_ND = np.zeros_like(self.truths[0])
        for member in chosen:
            total_ND += self.truths[member]
        return loss_of(total_ND / np.float32(len(chosen)), self.task.kind)

    def combine(self, method: Method, chosen: Sequence[int]) -> Selection:
        members = sorted(set(chosen))
        if len(members) == 1:
            return Selection(method=Method.SINGLE, members=((members[0], 1.0),), score=self.alone[members[0]])
        weights = [float(chosen.count(member)) for member in members]
        votes = [self.votes[member] for member in members]
        together = (max_of(votes) if method is Method.MAX else mean_of(votes, weights)).logits(self.task.kind)
        return Selection(
            method=method,
            members=tuple(zip(members, weights, strict=True)),
            score=self.task.evaluate(self.index, together).score,
        )


Tell = Callable[[str], None]


def choose(panel: Panel, method: Method = Method.GREEDY, tell: Tell = lambda text: None) -> list[Selection]:
    """All that was considered, best first: by the loss; maxima, which are no probabilities, by the score.

    Of many combinations the best score is the luckiest. By it, means gained half as much on other rows, and
    a head alone, itself the luckiest of many, kept its place too often (MRPC, RTE).
    """
    tell(f"ensemble: {method} of {len(panel.votes)}")
    if method is Method.GREEDY:
        return [panel.combine(method, chosen) for chosen in reversed(_steps(panel))]
    considered = [[panel.best_alone], *_first_ones(panel)]
    if method is Method.MAX:
        maxima = [panel.combine(method, chosen) for chosen in considered]
        return sorted(maxima, key=lambda selection: (-selection.score, len(selection.members)))
    ranked = sorted(considered, key=lambda chosen: (panel.loss(chosen), len(chosen)))
    return [panel.combine(method, chosen) for chosen in ranked]


def _steps(panel: Panel) -> list[list[int]]:
    """Forward selection with replacement (Caruana et al., 2004), by the loss, from the best alone on."""
    steps = [[panel.best_alone]]
    while len(steps) < ROUNDS:
        longer = ([*steps[-1], member] for member in range(len(panel.votes)))
        best = min(longer, key=panel.loss)
        if panel.loss(best) >= panel.loss(steps[-1]):
            break
        steps.append(best)
    return steps


def _first_ones(panel: Panel) -> Iterator[list[int]]:
    """The best heads, as many as there are sizes, with the encoder and without."""
    for size in sizes(len(panel.heads)):
        for extra in [(), (panel.encoder,)] if panel.encoder is not None else [()]:
            if size + len(extra) > 1:
                yield [*range(size), *extra]


def sizes(heads: int) -> list[int]:
    """How many of the best go into a maximum or a mean: 1, 2, 3, 4, 6, 8, 12, 16, 24, …, and all."""
    steps = {base << power for base in (1, 3) for power in range(heads.bit_length())}
    return sorted({size for size in steps if size <= heads} | {heads})
