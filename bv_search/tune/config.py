"""What `tune` is asked to do."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from bv_search.command import AUTO
from bv_search.options import Option
from bv_search.precision import PRECISIONS
from bv_search.source import SOURCES
from bv_search.words import duration, fraction, positive_int, refuse, score, size, whole_number

SCHEDULERS = ("asha", "none")
DEFAULT_SPACE = "adapters"
DEFAULT_SEARCHER = "hyperopt"
DEFAULT_SCHEDULER = "asha"
DEFAULT_TRIALS = 32
FOLDS = 5  # where fewer rows than these choose, so that they do not choose by luck
FEW_ROWS = 2000  # of select
FINALISTS = 3
SEEDS = 3  # at least, so that their mean says more than one of them
GENERATION = 8  # trials under way at once, where a searcher learns from those that are told
LONGEST_NAME = 200  # bytes; a disk takes 255, some of them for what a folder is called while it is made

SpaceOption = Annotated[
    str | Mapping[str, Any], Option(f"a shipped space, or a YAML file (default: {DEFAULT_SPACE})")
]
TRIALS = f"(default: {DEFAULT_TRIALS} or the grid)"


class More(int):
    """So many trials more than a resumed run has."""


def read_trials(text: str) -> int:
    count = positive_int(text.removeprefix("+"))
    return More(count) if text.startswith("+") else count


def read_folds(text: str) -> int | None:
    return None if text == AUTO else positive_int(text)


def read_seeds(text: str) -> int:
    return count if (count := positive_int(text)) >= SEEDS else refuse(count, f"{SEEDS} or more")


def read_pack(text: str) -> str:
    return AUTO if text == AUTO else str(positive_int(text))


def read_name(text: str) -> str:
    if text in ("", "..") or Path(text).name != text:
        refuse(text, "the name of a folder in --runs", do="say with --runs where it is")
    if (found := len(text.encode())) > LONGEST_NAME:
        refuse(found, f"at most {LONGEST_NAME} bytes")
    return text


def read_run(text: str) -> Path:
    if Path(text).name in ("", ".."):
        refuse(text, "the name of a run, or its folder")
    # a name is looked for in --runs; what has a slash is the place itself, and ./it is no name
    return Path(text).absolute() if os.sep in text else Path(text)


@dataclass(frozen=True, kw_only=True)
class TuneConfig:
    """What is empty or None is as the resumed run has it, or else the default."""

    space: SpaceOption = ""
    store: Annotated[str, Option("folder or URL of a store; without it, a demonstration is built")] = ""
    searcher: Annotated[
        str | None,
        Option(
            f"hyperopt, optuna, optuna-gp, random or grid (default: grid if finite, else {DEFAULT_SEARCHER})"
        ),
    ] = None
    scheduler: Annotated[
        str | None, Option(f"{' or '.join(SCHEDULERS)} (default: none for a grid, else {DEFAULT_SCHEDULER})")
    ] = None
    trials: Annotated[
        int | None,
        Option(f"heads to try; +N: so many more than a resumed run has {TRIALS}", read=read_trials),
    ] = None
    time_budget: Annotated[
        float | None,
        Option("such as 90s, 30m, 2h: heads then stay as they are, and are scored", read=duration),
    ] = None
    objective: Annotated[
        str | None,
        Option(
            "with parameters, look for the front of good and small heads (default: score)",
            metavar="score|score,parameters",
        ),
    ] = None
    ladder: Annotated[
        bool | None,
        Option("begin with the heads, where the rungs are known already, of another run on this store"),
    ] = None
    target: Annotated[
        float | None,
        Option(
            "end the search once a head has this score on select: the others then stay as they are",
            read=score,
        ),
    ] = None
    patience: Annotated[
        int | None,
        Option(
            "end the search after N trials in a row without a gain: a new best, or a new head of the front "
            "(how long one head waits for a gain of its own is the setting `patience` of a space)",
            read=positive_int,
        ),
    ] = None
    max_parameters: Annotated[
        int | None,
        Option(
            "propose no head of which one copy has more (a space may say so too: max_parameters: N)",
            read=positive_int,
        ),
    ] = None
    data_fraction: Annotated[
        float | None,
        Option("train on the first part of the store", read=fraction),
    ] = None
    folds: Annotated[
        int | None,
        Option(
            "train K copies of each head, each without a part of train and select that then judges it; the "
            f"mean of them answers (default: auto, {FOLDS} where a store keeps one token a window, select "
            f"has fewer than {FEW_ROWS:,} rows and the searcher is not a grid, else 1)",
            read=read_folds,
            metavar="auto|K",
        ),
    ] = None
    finalists: Annotated[
        int | None,
        Option(
            "heads that learn once more at the end, from all rows of train and select; the mean of the best "
            f"one's copies is what a run answers with (default: {FINALISTS}; 0 of a grid, and with folds)",
            read=whole_number,
        ),
    ] = None
    seeds: Annotated[
        int | None,
        Option(f"copies of each finalist (default: as many as folds, and at least {SEEDS})", read=read_seeds),
    ] = None
    pack: Annotated[
        str | None,
        Option("heads that share a pass (default: auto, by memory)", read=read_pack, metavar="auto|K"),
    ] = None
    generation: Annotated[
        int | None,
        Option(
            "heads under way at once; the next are drawn by what these have told "
            f"(default: {GENERATION} for searchers that learn, else as many as memory holds)",
            read=positive_int,
        ),
    ] = None
    source: Annotated[
        str,
        Option(
            "read the store, or let its encoder make the hidden states as heads train (default: the faster)",
            metavar="|".join(SOURCES),
        ),
    ] = AUTO
    precision: Annotated[
        str | None,
        Option(
            "of the wide products while heads train (default: 16 bits where the machine is faster at them)",
            choices=(AUTO, *PRECISIONS),
        ),
    ] = None
    memory: Annotated[
        int | None,
        Option("of blocks that a scan worker keeps, such as 2GB (default: as much as there is)", read=size),
    ] = None
    cache: Annotated[
        int | None,
        Option(
            "of blocks of a far store that a machine keeps on its disk for all its scan workers, such as "
            "200GB (default: as many as leave a tenth of the disk free)",
            read=size,
        ),
    ] = None
    workers: Annotated[
        int | None,
        Option(
            "scan workers; where machines come and go, so many are asked for (default: one per GPU, also of "
            "machines to come, or one)",
            read=positive_int,
        ),
    ] = None
    warm_start: Annotated[
        tuple[Path, ...],
        Option(
            "tell a new search first what these runs of the same space found, of the same metric",
            read=read_run,
            count="+",
            metavar="RUN",
        ),
    ] = ()
    seed: Annotated[int | None, Option("of the searcher (default: 0)", read=whole_number)] = None
    name: Annotated[
        str | None, Option("of the run's folder (default: TASK-SPACE-1, -2, …)", read=read_name)
    ] = None
    resume: bool = False
    runs: Annotated[Path, Option("where run folders are")] = Path("runs")
    data: Annotated[str | None, Option("check that the store was made of this data", metavar="PATH")] = None

    @property
    def begun_space(self) -> str | Mapping[str, Any]:
        """What a new run searches."""
        return self.space or DEFAULT_SPACE
