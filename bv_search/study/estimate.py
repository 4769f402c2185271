"""Seconds and bytes of each step, from the rates of this machine.

What no rate says in advance is how soon heads have learned: SEARCHED and LEARNED are what searches and tables
of this project had on MRPC, RTE, SST-2 and STS-B, and on the questions of squad-wiki.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from bv_search.scan.course import Course
from bv_search.scan.ladder import rungs_of
from bv_search.scan.trial import TrialConfig
from bv_search.space.space import Space
from bv_search.study import spaces
from bv_search.study.config import StudiesConfig
from bv_search.study.rates import MachineRates
from bv_search.study.steps import AMOUNTS, EXCHANGE, EXTRACT, FINETUNE, GRID, SEARCH, WINNER, WorkStep
from bv_search.tasks.registry import find_task
from bv_search.tasks.row import Role
from bv_search.tasks.task import Task
from bv_search.tune.config import DEFAULT_TRIALS
from bv_search.tune.sizes import count

SEARCHED = 0.13
LEARNED = {True: 0.25, False: 0.5}
"""Of the longest course of `passes: auto`: how far a head of a search goes, and one that no rung stops, by
whether a window is one token."""
TABLE = {True: 1.0, False: 2.0}
"""What a table takes, beside what its heads take on average in full packs: the last of them are alone, and
lanes wait for each other and for memory. Of tables on squad-wiki."""
START = 10.0  # seconds of a run: its workers, its trials, MLflow
ROUND = 1.5  # seconds between packs of a run, which heads on one share of the data are by themselves
LADDER = 5.0  # seconds, where probes are solved
PREPARE = 8.0  # seconds of a fine-tuning or extraction: processes, tokens
NUMBER = 4  # bytes
INDEX = {True: 2, False: 8}  # bytes a token of a store's index, by whether a window is one; spans have places
ENTRY = 300  # bytes of a score in an exchange
SAMPLED = 12  # heads of a space that are measured

Cost = tuple[float, float]
"""Seconds, and bytes."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    config: StudiesConfig
    rates: MachineRates

    def of(self, step: WorkStep) -> Cost:
        costs = {
            FINETUNE: self._finetuning,
            EXTRACT: self._extraction,
            GRID: self._grid,
            SEARCH: self._search,
            WINNER: self._winner,
            AMOUNTS: self._amounts,
            EXCHANGE: self._exchange,
        }
        return costs[step.kind]()

    def _finetuning(self) -> Cost:
        marks = self.config.marks
        training = max(marks) * self._train / self.rates.finetune
        scoring = sum(mark > 0 for mark in marks) * self._encoding(self._held)
        return PREPARE + training + scoring, len(marks) * self.rates.encoder_bytes

    def _extraction(self) -> Cost:
        windows, rates = self._train + self._held, self.rates
        kept = windows * rates.stored_tokens * rates.token_bytes if self.config.keep_stores else 0.0
        return PREPARE + self._encoding(windows), kept + windows * rates.tokens * INDEX[rates.one_token]

    def _grid(self) -> Cost:
        heads, seeds = self._grid_heads, self.config.seeds
        passes = self._passes(heads, self._learned)
        training = seeds * self._grid_seconds * self._train * passes
        spent = START + (self._ladder() + training) * TABLE[self.rates.one_token] + self._live(passes)
        return spent, self._written(heads, seeds * len(heads))

    def _search(self) -> Cost:
        heads, trials = self._searched_heads, self.config.trials or DEFAULT_TRIALS
        a_head = self.rates.seconds_of(heads) / len(heads)
        passes = self._passes(heads, SEARCHED)
        return START + trials * a_head * self._train * passes + self._live(passes), self._written(
            heads, trials
        )

    def _winner(self) -> Cost:
        passes = self._passes(self._searched_heads, self._learned)
        training = self._of_seeds * self._train * passes
        return START + training + self._live(passes), self._written(self._searched_heads, self.config.seeds)

    def _amounts(self) -> Cost:
        """Each share of the data is a pack of its own."""
        shares = self.config.shares
        passes = self._passes(self._searched_heads, self._learned) * sum(shares)
        spent = START + len(shares) * ROUND + self._of_seeds * self._train * passes + self._live(passes)
        return spent, self._written(self._searched_heads, self.config.seeds * len(shares))

    def _exchange(self) -> Cost:
        """A head's forward pass is a third of what it takes to train it."""
        windows, seeds = self.rates.windows[Role.REPORT], self.config.seeds
        live = 0.0 if self.config.keep_stores else self._encoding(windows)
        return 1.0 + seeds * self._grid_seconds / 3 * windows + live, ENTRY * seeds * len(self._grid_heads)

    @property
    def _train(self) -> float:
        return self.rates.windows[Role.TRAIN]

    @property
    def _learned(self) -> float:
        return LEARNED[self.rates.one_token]

    @property
    def _held(self) -> float:
        return self.rates.windows[Role.SELECT] + self.rates.windows[Role.REPORT]

    def _encoding(self, windows: float) -> float:
        return windows * self.rates.tokens / (self.rates.encode * self.rates.cores)

    def _live(self, passes: float) -> float:
        """The encoder makes the hidden states of every pass of a pack, and those of select and report.

        Those of one token a window it makes once: they stay in memory.
        """
        made = 1.0 if self.rates.one_token else passes
        return 0.0 if self.config.keep_stores else self._encoding(made * self._train + self._held)

    def _written(self, heads: Sequence[TrialConfig], trials: int) -> float:
        """Each head as a file of the run, and again as one of MLflow's; its answers."""
        shape = self.rates.shape
        parameters = sum(count(each.head, shape) for each in heads) / len(heads)
        return trials * NUMBER * (2 * parameters + self._held * self.rates.stored_tokens * shape.outputs)

    def _passes(self, heads: Sequence[TrialConfig], open_share: float) -> float:
        """Of a head, on average."""
        courses = [Course.of(each.training, max(1, round(self._train))) for each in heads]
        return sum(each.passes * (open_share if each.is_open else 1.0) for each in courses) / len(courses)

    def _ladder(self) -> float:
        if self.rates.one_token:
            return LADDER
        probes = [rung.config for rung in rungs_of(self.rates.shape) if not rung.is_solved]
        return self.rates.seconds_of(probes) * self._passes(probes, self._learned) * self._train

    @cached_property
    def _grid_seconds(self) -> float:
        """Of all heads of the grid, for one window."""
        return self.rates.seconds_of(self._grid_heads)

    @cached_property
    def _of_seeds(self) -> float:
        """Of one head with each seed, in a pack of their own."""
        heads = self._searched_heads
        packs = [self.rates.seconds_of([each] * self.config.seeds) for each in heads]
        return sum(packs) / len(packs)

    @cached_property
    def _task(self) -> Task:
        return find_task(self.config.task)

    @cached_property
    def _grid_heads(self) -> list[TrialConfig]:
        one_token = self.rates.one_token
        return _by_head(spaces.load(spaces.grid_of(self.config, self._task), one_token=one_token))

    @cached_property
    def _searched_heads(self) -> list[TrialConfig]:
        """A sample of the space's."""
        one_token = self.rates.one_token
        found = _by_head(spaces.load(spaces.searched(self.config, self._task), one_token=one_token))
        return found[:: -(-len(found) // SAMPLED)]


def _by_head(space: Space) -> list[TrialConfig]:
    """A config of each of its heads."""
    return list({config.head: config for config in space.typed_corners()}.values())
