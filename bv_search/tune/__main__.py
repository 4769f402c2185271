"""bv-search tune: search heads on a store of hidden states."""

import sys
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any

from bv_search.command import Command, Progress, Result, main
from bv_search.errors import UserError
from bv_search.options import Option, given
from bv_search.tune.config import TuneConfig, read_run

EXAMPLES = """
  bv-search tune --space adapters                      a small demonstration on generated data
  bv-search tune --space adapters --store stores/mrpc --trials 64 --searcher optuna
  bv-search tune --space my-space.yaml --store s3://bucket/stores/squad --time-budget 2h
  bv-search tune --resume mrpc-adapters-1 --trials +32
  bv-search tune --rerun mrpc-adapters-1 0007
  bv-search tune --space paper-span --dry-run --shape 25x1024
"""


@dataclass(frozen=True, kw_only=True)
class TuneArguments(TuneConfig):
    """A search, or what is done instead."""

    resumed: Annotated[
        Path | None,
        Option("go on with a run: its name, or its folder", read=read_run, metavar="RUN", name="--resume"),
    ] = None
    rerun: Annotated[
        tuple[str, str] | None,
        Option(
            "train one trial of a run again, and compare its score and weights with those that were kept; "
            "exit status 1 if the scores do not agree",
            count=2,
            metavar=("RUN", "TRIAL"),
        ),
    ] = None
    dry_run: Annotated[bool, Option("print heads, sizes and costs; do nothing")] = False
    shape: Annotated[
        str | None, Option("with --dry-run: stands in for a store, such as 25x1024", metavar="LxH")
    ] = None

    def config(self) -> TuneConfig:
        said: dict[str, Any] = {each.name: getattr(self, each.name) for each in fields(TuneConfig)}
        said["warm_start"] = tuple(self.runs / place for place in self.warm_start)
        if self.resumed is not None:
            if self.name not in (None, self.resumed.name):
                raise UserError(
                    "--name is not the name of the resumed run",
                    expected=self.resumed.name,
                    found=self.name,
                    do="leave it out: a run keeps its name",
                )
            place = self.runs / self.resumed
            said |= {"resume": True, "name": place.name, "runs": place.parent}
        return TuneConfig(**said)


def run(asked: TuneArguments, progress: Progress) -> Result:
    if asked.rerun is not None:
        return _rerun(asked, progress)
    if asked.dry_run:
        return _dry_run(asked)
    if asked.shape is not None:
        raise UserError(
            "--shape stands in for a store in a dry run", do="add --dry-run, or name a store with --store"
        )
    if not asked.store and asked.resumed is None:
        return _demonstrate(asked, progress)
    from bv_search.tune import search
    from bv_search.tune.summary import compare_heads, describe, to_json

    finished = search.run(asked.config(), progress)
    standings = compare_heads(finished)
    said = to_json(finished, standings)
    return Result(text=describe(finished, standings), json=said, exit_status=0 if said["best"] else 2)


def _dry_run(asked: TuneArguments) -> Result:
    from bv_search.tune.dry_run import dry_run

    if not asked.store and asked.shape is None:
        raise UserError("nothing to measure", expected="--store STORE or --shape LxH", do="add one of them")
    if asked.store and asked.shape is not None:
        raise UserError("both --store and --shape are given", expected="one of them", do="leave one out")
    if asked.resumed is not None:
        raise UserError("a dry run is of a new search", found="--resume", do="leave --resume out")
    if asked.warm_start:
        raise UserError("a dry run proposes nothing", found="--warm-start", do="leave --warm-start out")
    found = dry_run(asked.config(), asked.shape)
    return Result(text=str(found), json=found.to_json())


def _rerun(asked: TuneArguments, progress: Progress) -> Result:
    from bv_search.tune.rerun import rerun

    others = [option for name, option in given(asked).items() if name not in ("rerun", "runs", "memory")]
    if others:
        raise UserError(
            "a trial is trained again as it was",
            expected="--rerun RUN TRIAL, and at most --runs and --memory",
            found=others[0],
            do="leave it out",
        )
    assert asked.rerun is not None
    place, trial = asked.rerun
    found = rerun(asked.runs / read_run(place), trial, progress, memory=asked.memory)
    return Result(text=str(found), json=found.to_json(), exit_status=0 if found.agrees else 1)


def _demonstrate(asked: TuneArguments, progress: Progress) -> Result:
    from bv_search.demo import demonstrate

    return demonstrate(asked.config(), progress)


COMMAND = Command(
    name="tune",
    summary="Search heads on the hidden states of a store; one pass over the data trains a whole pack.",
    examples=EXAMPLES,
    config=TuneArguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
