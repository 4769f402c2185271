"""`bv-search report RUN…`."""

import sys
from argparse import ArgumentParser, Namespace

from bv_search.command import Command, Progress, Result, main
from bv_search.report.report import ReportConfig, run

EXAMPLES = """
  bv-search report runs/first               runs/first/report.html and report.md
  bv-search report runs/first --data glue/MRPC    with the texts of rows that only one model gets right
  bv-search report runs/a runs/b            one for each, and runs/results.html: all heads side by side
  bv-search report runs/a runs/b --together docs   docs/results.html, with results.md and results.svg
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folders of runs")
    parser.add_argument("--data", help="show rows of it; the stores must have been made of it")
    parser.add_argument(
        "--together", metavar="FOLDER", help="where all runs stand side by side (default: where the first is)"
    )
    parser.add_argument("--no-mlflow", action="store_true", help="write the run folder only")


def command(args: Namespace, progress: Progress) -> Result:
    config = ReportConfig(
        runs=tuple(args.runs), data=args.data, mlflow=not args.no_mlflow, together=args.together
    )
    result = run(config, progress)
    return Result(text=result.text(), json=result.to_json())


COMMAND = Command(
    name="report",
    summary="Write a run's report: what was searched, what was found, how far it can be trusted.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=command,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
