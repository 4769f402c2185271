"""`bv-search report RUN…`."""

import sys
from argparse import ArgumentParser, Namespace

from bv_search.command import Command, Progress, Result, main
from bv_search.report.report import ReportConfig, run

EXAMPLES = """
  bv-search report runs/first               runs/first/report.html and report.md
  bv-search report runs/first runs/second   one for each
  bv-search report runs/a runs/b --together docs   and docs/results.md, docs/results.svg: all in one table
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folders of runs")
    parser.add_argument("--data", help="check that the stores were made of this data")
    parser.add_argument("--together", metavar="FOLDER", help="also one table and one chart of all runs, here")
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
