"""The choice of members and method: everything here looks at `select` only."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bv_search.model.combine import Method, max_of, methods_of
from bv_search.tasks.task import Task
from bv_search.tasks.votes import Votes, mean_of

ROUNDS = 12  # of greedy selection


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Members by number among the candidates, with the weight of each, and what they score together."""

    method: Method
    members: tuple[tuple[int, float], ...]
    score: float


@dataclass(frozen=True, kw_only=True)
class Panel:
    """What all candidates say of the select rows; the encoder is the last one, where there is one."""

    task: Task
    index: pa.Table
    logits: Sequence[Sequence[np.ndarray]]
    votes: Sequence[Votes]
    encoder: int | None

    @classmethod
    def of(
        cls, task: Task, index: pa.Table, logits: Sequence[Sequence[np.ndarray]], *, encoder: bool
    ) -> "Panel":
        votes = [Votes.of(each, task.kind) for each in logits]
        return cls(
            task=task, index=index, logits=logits, votes=votes, encoder=len(logits) - 1 if encoder else None
        )

    @property
    def heads(self) -> range:
        return range(len(self.logits) - (self.encoder is not None))

    def score_alone(self, member: int) -> float:
        return self.task.evaluate(self.index, self.logits[member]).score

    def score(self, combined: Votes) -> float:
        return self.task.evaluate(self.index, combined.logits(self.task.kind)).score


Tell = Callable[[str], None]


def choose(
    panel: Panel, methods: Sequence[Method] | None = None, tell: Tell = lambda text: None
) -> list[Choice]:
    """All that was considered, best on select first; of equals the one with fewer members."""
    considered = [_single(panel)]
    for method in methods or methods_of(panel.task.kind):
        if method is Method.GREEDY:
            considered.append(_greedy(panel, tell))
        elif method is not Method.SINGLE:
            considered += _fixed(panel, method, tell)
    return sorted(considered, key=lambda choice: (-choice.score, len(choice.members)))


def _single(panel: Panel) -> Choice:
    scores = [panel.score_alone(member) for member in range(len(panel.logits))]
    best = int(np.argmax(scores))
    return Choice(method=Method.SINGLE, members=((best, 1.0),), score=scores[best])


def _fixed(panel: Panel, method: Method, tell: Tell) -> Iterator[Choice]:
    """The best heads, as many as there are sizes, with the encoder and without."""
    combine = max_of if method is Method.MAX else mean_of
    for size in sizes(len(panel.heads)):
        for extra in [(), (panel.encoder,)] if panel.encoder is not None else [()]:
            members = (*range(size), *extra)
            if len(members) < 2:
                continue
            tell(f"ensemble: {method} of {len(members)}")
            score = panel.score(combine([panel.votes[member] for member in members]))
            yield Choice(method=method, members=tuple((member, 1.0) for member in members), score=score)


def sizes(heads: int) -> list[int]:
    """How many of the best go into a maximum or a mean: 1, 2, 3, 4, 6, 8, 12, 16, 24, …, and all."""
    steps = {base << power for base in (1, 3) for power in range(heads.bit_length())}
    return sorted({size for size in steps if size <= heads} | {heads})


def _greedy(panel: Panel, tell: Tell) -> Choice:
    """Forward selection with replacement (Caruana et al., 2004): add what helps the mean most."""
    pool = range(len(panel.logits))
    start = max(pool, key=panel.score_alone)
    chosen, score = [start], panel.score_alone(start)
    total = panel.votes[start].values.copy()
    for number in range(2, ROUNDS + 1):
        tell(f"ensemble: greedy selection, {number} of at most {ROUNDS}")
        lengths = panel.votes[start].lengths
        scores = [
            panel.score(Votes((total + panel.votes[member].values) / np.float32(number), lengths))
            for member in pool
        ]
        best = int(np.argmax(scores))
        if scores[best] <= score:
            break
        chosen.append(pool[best])
        total += panel.votes[pool[best]].values
        score = scores[best]
    members = tuple((member, float(chosen.count(member))) for member in sorted(set(chosen)))
    return Choice(method=Method.GREEDY if len(members) > 1 else Method.SINGLE, members=members, score=score)
