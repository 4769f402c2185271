"""bv-search tune: search heads on a store of hidden states."""

import os
import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from math import inf, isfinite
from pathlib import Path

from bv_search.command import AUTO, Command, Progress, Result, fraction, main, positive_int, size
from bv_search.errors import UserError
from bv_search.precision import PRECISIONS
from bv_search.run.study import OBJECTIVES
from bv_search.source import SOURCES
from bv_search.tune.config import (
    DEFAULT_SCHEDULER,
    DEFAULT_SEARCHER,
    DEFAULT_SPACE,
    DEFAULT_TRIALS,
    FEW_ROWS,
    FINALISTS,
    FOLDS,
    GENERATION,
    SCHEDULERS,
    SEEDS,
    TuneConfig,
)

EXAMPLES = """
  bv-search tune --space adapters                      a small demonstration on generated data
  bv-search tune --space adapters --store stores/mrpc --trials 64 --searcher optuna
  bv-search tune --space my-space.yaml --store s3://bucket/stores/squad --time-budget 2h
  bv-search tune --resume mrpc-adapters-1 --trials +32
  bv-search tune --rerun mrpc-adapters-1 0007
  bv-search tune --space paper-span --dry-run --shape 25x1024
"""

LONGEST_NAME = 200  # bytes; a disk takes 255, some of them for what a folder is called while it is made
MOST_UNITS = 1e6  # of a time: hours, minutes or seconds
UNITS = {"s": 1, "m": 60, "h": 3600}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--space", default="", help=f"a shipped space, or a YAML file (default: {DEFAULT_SPACE})"
    )
    parser.add_argument(
        "--store", default="", help="folder or URL of a store; without it, a demonstration is built"
    )
    parser.add_argument(
        "--searcher",
        help="hyperopt, optuna, optuna-gp, random or grid "
        f"(default: grid if finite, else {DEFAULT_SEARCHER})",
    )
    parser.add_argument(
        "--scheduler", help=f"{' or '.join(SCHEDULERS)} (default: none for a grid, else {DEFAULT_SCHEDULER})"
    )
    parser.add_argument(
        "--trials",
        type=trials,
        metavar="N",
        help=f"heads to try; +N: so many more than a resumed run has (default: {DEFAULT_TRIALS} or the grid)",
    )
    parser.add_argument(
        "--time-budget",
        type=duration,
        metavar="TIME",
        help="such as 90s, 30m, 2h: heads then stay as they are, and are scored",
    )
    parser.add_argument(
        "--objective",
        metavar="|".join(OBJECTIVES),
        help="with parameters, look for the front of good and small heads (default: score)",
    )
    parser.add_argument(
        "--target",
        type=score,
        metavar="SCORE",
        help="end the search once a head has this score on select: the others then stay as they are",
    )
    parser.add_argument(
        "--patience",
        type=positive,
        metavar="N",
        help="end the search after N trials in a row without a gain: a new best, or a new head of the front "
        "(how long one head waits for a gain of its own is the setting `patience` of a space)",
    )
    parser.add_argument(
        "--max-parameters",
        type=positive,
        metavar="N",
        help="propose no head of which one copy has more (a space may say so too: max_parameters: N)",
    )
    parser.add_argument(
        "--data-fraction", type=fraction, metavar="F", help="train on the first part of the store"
    )
    parser.add_argument(
        "--folds",
        type=folds,
        metavar="auto|K",
        help="train K copies of each head, each without a part of train and select that then judges it; the "
        f"mean of them answers (default: auto, {FOLDS} where a store keeps one token a window, select has "
        f"fewer than {FEW_ROWS:,} rows and the searcher is not a grid, else 1)",
    )
    parser.add_argument(
        "--finalists",
        type=whole,
        metavar="N",
        help="heads that learn once more at the end, from all rows of train and select; the mean of the best "
        f"one's copies is what a run answers with (default: {FINALISTS}; 0 of a grid, and with folds)",
    )
    parser.add_argument(
        "--seeds",
        type=seeds,
        metavar="N",
        help=f"copies of each finalist (default: as many as folds, and at least {SEEDS})",
    )
    parser.add_argument(
        "--pack",
        type=pack,
        metavar="K",
        help="heads that share a pass (default: auto, by memory)",
    )
    parser.add_argument(
        "--generation",
        type=positive_int,
        metavar="N",
        help="heads under way at once; the next are drawn by what these have told "
        f"(default: {GENERATION} for searchers that learn, else as many as memory holds)",
    )
    parser.add_argument(
        "--source",
        default=TuneConfig.source,
        metavar="|".join(SOURCES),
        help="read the store, or let its encoder make the hidden states as heads train (default: the faster)",
    )
    parser.add_argument(
        "--precision",
        choices=(AUTO, *PRECISIONS),
        help="of the wide products while heads train (default: 16 bits where the machine is faster at them)",
    )
    parser.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="of blocks that a scan worker keeps, such as 2GB (default: as much as there is)",
    )
    parser.add_argument(
        "--cache",
        type=size,
        metavar="SIZE",
        help="of blocks of a far store that a machine keeps on its disk for all its scan workers, such as "
        "200GB (default: as many as leave a tenth of the disk free)",
    )
    parser.add_argument(
        "--workers",
        type=positive_int,
        metavar="N",
        help="scan workers; where machines come and go, so many are asked for (default: one per GPU, also of "
        "machines to come, or one)",
    )
    parser.add_argument(
        "--warm-start",
        type=run_place,
        nargs="+",
        default=(),
        metavar="RUN",
        help="tell a new search first what these runs of the same space found, of the same metric",
    )
    parser.add_argument("--seed", type=whole, help="of the searcher (default: 0)")
    parser.add_argument("--name", type=name, help="of the run's folder (default: TASK-SPACE-1, -2, …)")
    parser.add_argument(
        "--resume", type=run_place, metavar="RUN", help="go on with a run: its name, or its folder"
    )
    parser.add_argument(
        "--rerun",
        nargs=2,
        metavar=("RUN", "TRIAL"),
        help="train one trial of a run again, and compare its score and weights with those that were kept; "
        "exit status 1 if the scores do not agree",
    )
    parser.add_argument(
        "--runs", type=Path, default=TuneConfig.runs, metavar="FOLDER", help="default: %(default)s"
    )
    parser.add_argument("--data", metavar="PATH", help="check that the store was made of this data")
    parser.add_argument("--dry-run", action="store_true", help="print heads, sizes and costs; do nothing")
    parser.add_argument(
        "--shape", metavar="LxH", help="with --dry-run: stands in for a store, such as 25x1024"
    )


def run_command(args: Namespace, progress: Progress) -> Result:
    if args.rerun is not None:
        return _rerun(args, progress)
    if args.dry_run:
        return _dry_run(args)
    if args.shape is not None:
        raise UserError(
            "--shape stands in for a store in a dry run", do="add --dry-run, or name a store with --store"
        )
    if not args.store and args.resume is None:
        return _demonstrate(args, progress)
    from bv_search.tune.search import run
    from bv_search.tune.summary import compare_heads, describe, to_json

    finished = run(to_config(args), progress)
    standings = compare_heads(finished)
    said = to_json(finished, standings)
    return Result(text=describe(finished, standings), json=said, exit_status=0 if said["best"] else 2)


def to_config(args: Namespace) -> TuneConfig:
    count, more = args.trials or (None, False)
    resume: Path | None = args.resume
    if resume and args.name not in (None, resume.name):
        raise UserError(
            "--name is not the name of the resumed run",
            expected=resume.name,
            found=args.name,
            do="leave it out: a run keeps its name",
        )
    return TuneConfig(
        space=args.space,
        store=args.store,
        searcher=args.searcher,
        scheduler=args.scheduler,
        trials=count,
        more=more,
        warm_start=tuple(args.runs / place for place in args.warm_start),
        time_budget=args.time_budget,
        objective=args.objective,
        target=args.target,
        patience=args.patience,
        max_parameters=args.max_parameters,
        data_fraction=args.data_fraction,
        folds=args.folds,
        finalists=args.finalists,
        seeds=args.seeds,
        pack=args.pack,
        generation=args.generation,
        source=args.source,
        precision=args.precision,
        memory=args.memory,
        cache=args.cache,
        workers=args.workers,
        seed=args.seed,
        name=resume.name if resume else args.name,
        resume=resume is not None,
        data=args.data,
        runs=resume.parent if resume and resume.parent != Path() else args.runs,
    )


def is_said(value: object) -> bool:
    """Whether an option was given; a seed of 0 is."""
    return value is not None and value is not False and value not in ("", ())


def trials(text: str) -> tuple[int, bool]:
    return positive(text.removeprefix("+")), text.startswith("+")


def pack(text: str) -> str:
    return AUTO if text == AUTO else str(positive(text))


def folds(text: str) -> int | None:
    return None if text == AUTO else positive(text)


def name(text: str) -> str:
    if text in ("", "..") or Path(text).name != text:
        raise ArgumentTypeError(
            f"expected the name of a folder in --runs; found {text!r}; say with --runs where it is"
        )
    if (found := len(text.encode())) > LONGEST_NAME:
        raise ArgumentTypeError(f"expected at most {LONGEST_NAME} bytes; found {found}")
    return text


def run_place(text: str) -> Path:
    if Path(text).name in ("", ".."):
        raise ArgumentTypeError(f"expected the name of a run, or its folder; found {text!r}")
    # a name is looked for in --runs; what has a slash is the place itself, and ./it is no name
    return Path(text).absolute() if os.sep in text else Path(text)


def seeds(text: str) -> int:
    if (count := positive(text)) < SEEDS:
        raise ArgumentTypeError(f"expected {SEEDS} or more; found {count}")
    return count


def whole(text: str) -> int:
    if not text.isdecimal():
        raise ArgumentTypeError(f"expected a whole number, 0 or above; found {text!r}")
    return int(text)


def positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"expected a whole number above zero; found {text!r}")
    return int(text)


def score(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = inf
    if not isfinite(value):
        raise ArgumentTypeError(f"expected a score such as 0.85; found {text!r}")
    return value


def duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if not match or not 0 < float(match[1]) <= MOST_UNITS:
        raise ArgumentTypeError(f"expected a time such as 90s, 30m or 2h; found {text!r}")
    return float(match[1]) * UNITS[match[2]]


def _dry_run(args: Namespace) -> Result:
    from bv_search.tune.dry_run import dry_run

    if not args.store and args.shape is None:
        raise UserError("nothing to measure", expected="--store STORE or --shape LxH", do="add one of them")
    if args.store and args.shape is not None:
        raise UserError("both --store and --shape are given", expected="one of them", do="leave one out")
    if args.resume is not None:
        raise UserError("a dry run is of a new search", found="--resume", do="leave --resume out")
    if args.warm_start:
        raise UserError("a dry run proposes nothing", found="--warm-start", do="leave --warm-start out")
    found = dry_run(to_config(args), args.shape)
    return Result(text=str(found), json=found.to_json())


def _rerun(args: Namespace, progress: Progress) -> Result:
    from bv_search.tune.rerun import rerun

    plain = ("command", "json", "memory", "quiet", "rerun", "runs", "source")
    given = [name for name, value in vars(args).items() if name not in plain and is_said(value)]
    if args.source != AUTO:
        given.append("source")
    if given:
        raise UserError(
            "a trial is trained again as it was",
            expected="--rerun RUN TRIAL, and at most --runs and --memory",
            found=f"--{given[0].replace('_', '-')}",
            do="leave it out",
        )
    place, trial = args.rerun
    found = rerun(args.runs / run_place(place), trial, progress, memory=args.memory)
    return Result(text=str(found), json=found.to_json(), exit_status=0 if found.agrees else 1)


def _demonstrate(args: Namespace, progress: Progress) -> Result:
    from bv_search.demo import demonstrate

    return demonstrate(to_config(args), progress)


COMMAND = Command(
    name="tune",
    summary="Search heads on the hidden states of a store; one pass over the data trains a whole pack.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run_command,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
