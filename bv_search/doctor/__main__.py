"""`bv-search doctor`."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bv_search.command import Command, Progress, Result, main
from bv_search.tune.config import TuneConfig

EXAMPLES = """
  bv-search doctor            what this machine offers, and what will be chosen; exit status 2 on a complaint
  bv-search doctor --json
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--runs",
        type=Path,
        default=TuneConfig.runs,
        metavar="FOLDER",
        help="where runs go (default: %(default)s)",
    )


def run(args: Namespace, progress: Progress) -> Result:
    from bv_search.doctor.diagnosis import diagnose  # with torch

    found = diagnose(args.runs)
    return Result(text=str(found), json=found.to_json(), exit_status=0 if found.ok else 2)


COMMAND = Command(
    name="doctor",
    summary="Say what this machine offers, from processor to MLflow, and what will be chosen.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
