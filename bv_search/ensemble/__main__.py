"""`bv-search ensemble RUN…`."""

import sys
from argparse import ArgumentParser, Namespace

from bv_search.command import Command, Progress, Result, main, positive_int
from bv_search.ensemble.ensemble import EnsembleConfig, run
from bv_search.model.combine import Method

EXAMPLES = """
  bv-search ensemble runs/first                 the best combination of the run's heads and the encoder
  bv-search ensemble runs/first runs/second     heads of two runs on one store; runs/first gets the result
  bv-search ensemble runs/first --method max    only the paper's element-wise maximum
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("runs", metavar="RUN", nargs="+", help="folders of runs on one task and store")
    parser.add_argument(
        "--method",
        choices=["greedy", "mean", "max"],
        default="greedy",
        help="greedy: the best one, then whoever lowers the loss of the mean most (default); "
        "mean, max: of the first of the heads, with the encoder or without",
    )
    parser.add_argument(
        "--limit", type=positive_int, default=16, metavar="N", help="heads considered (default: 16)"
    )
    parser.add_argument("--data", help="check that the store was made of this data")
    parser.add_argument("--no-mlflow", action="store_true", help="write the run folder only")


def command(args: Namespace, progress: Progress) -> Result:
    result = run(
        EnsembleConfig(
            runs=tuple(args.runs),
            method=Method(args.method),
            limit=args.limit,
            data=args.data,
            mlflow=not args.no_mlflow,
        ),
        progress,
    )
    return Result(text=result.text(), json=result.to_json())


COMMAND = Command(
    name="ensemble",
    summary="Combine heads and encoder: chosen on select, with folds out of fold; the score is of report.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=command,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
