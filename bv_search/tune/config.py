"""What `tune` is asked to do."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bv_search.command import AUTO

SCHEDULERS = ("asha", "none")


@dataclass(frozen=True, kw_only=True)
class TuneConfig:
    """What is empty or None is as the resumed run has it, or else the default."""

    space: str | Mapping[str, Any] = ""  # a shipped one's name, a YAML file, or what stands in one
    store: str = ""  # folder or URL
    searcher: str | None = None  # None: grid for a finite space, else the default
    scheduler: str | None = None
    trials: int | None = None  # in all; None: the grid's size, else DEFAULT_TRIALS
    warm_start: tuple[Path, ...] = ()  # runs whose trials a new search is told of
    more: bool = False  # `trials` more than the resumed run has
    time_budget: float | None = None  # seconds
    objective: str | None = None  # one of OBJECTIVES; None: the score
    target: float | None = None  # on select: a head that reaches it ends the search
    patience: int | None = None  # trials in a row without a new best that end the search
    max_parameters: int | None = None  # of one copy of a head; None: as the space says
    data_fraction: float | None = None  # of the rows that heads learn from; None: as the space says
    folds: int | None = None  # copies of each head; None: some where few rows choose, one elsewhere
    finalists: int | None = None  # heads that learn once more, from all rows; None: none of a table
    seeds: int | None = None  # copies of each of these
    pack: str | None = None  # heads that share a pass, or auto, the default: by memory
    generation: int | None = None  # trials under way at once; None: by the searcher
    source: str = AUTO  # of hidden states: store, live, or auto: the faster one
    precision: str | None = None  # of wide products: one of PRECISIONS, or auto, the default
    memory: int | None = None  # bytes of blocks that a scan worker keeps; None: as many as there are
    cache: int | None = None  # bytes of a far store on a machine's disk; None: all but a tenth of the disk
    workers: int | None = None  # scan workers that are asked for; None: one per GPU, or one
    seed: int | None = None
    name: str | None = None
    resume: bool = False
    data: str | None = None  # what the store must have been made of
    runs: Path = Path("runs")

    @property
    def begun_space(self) -> str | Mapping[str, Any]:
        """What a new run searches."""
        return self.space or DEFAULT_SPACE


DEFAULT_SPACE = "adapters"
DEFAULT_SEARCHER = "hyperopt"
DEFAULT_SCHEDULER = "asha"
DEFAULT_TRIALS = 32
FOLDS = 5  # where fewer rows than these choose, so that they do not choose by luck
FEW_ROWS = 2000  # of select
FINALISTS = 3
SEEDS = 3  # at least, so that their mean says more than one of them
GENERATION = 8  # trials under way at once, where a searcher learns from those that are told
