"""`bv-search run`: from data to a run's report and a model to serve, all steps in one folder."""

import sys
from argparse import ArgumentParser, Namespace
from pathlib import Path

from bv_search.command import Command, Progress, Result, main, positive_int
from bv_search.pipeline.config import PipelineConfig
from bv_search.tune.config import DEFAULT_SPACE, DEFAULT_TRIALS
from bv_search.verify.__main__ import COMMAND as VERIFY

EXAMPLES = """
  bv-search run --task mrpc --encoder bert-base-uncased --data glue/MRPC --out mine
  bv-search run --task ./reviews.yaml --encoder ./my-encoder --data reviews/ --space classification --out mine
  the same command again goes on where it was interrupted; with more --trials it searches on
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--task", required=True, help="name of a task, or a YAML file that defines one")
    parser.add_argument(
        "--encoder", required=True, help="a transformers folder, or a name on the Hub (NAME or NAME@REVISION)"
    )
    parser.add_argument("--out", required=True, type=Path, metavar="FOLDER", help="folder for all of it")
    parser.add_argument(
        "--data", metavar="PATH", help="local folder or file of the task; without it, from the Hub"
    )
    parser.add_argument(
        "--fraction",
        type=float,
        default=PipelineConfig.fraction,
        metavar="F",
        help="of an epoch of fine-tuning, before heads are searched (default: %(default)s)",
    )
    parser.add_argument(
        "--space",
        default=PipelineConfig.space,
        help=f"a shipped space, or a YAML file (default: {DEFAULT_SPACE})",
    )
    parser.add_argument(
        "--trials",
        type=positive_int,
        metavar="N",
        help=f"heads to try (default: {DEFAULT_TRIALS} or the grid)",
    )


def run(args: Namespace, progress: Progress) -> Result:
    config = PipelineConfig(
        task=args.task,
        encoder=args.encoder,
        out=args.out,
        data=args.data,
        fraction=args.fraction,
        space=args.space,
        trials=args.trials,
    )
    from bv_search.pipeline import pipeline  # with torch and Ray

    done = pipeline.run(config, progress)
    return Result(text=str(done), json=done.to_json())


COMMAND = Command(
    name="run",
    summary="Go through all steps: finetune, extract, tune, ensemble, report, and a model to serve.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run,
    parts={"verify": VERIFY},
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
