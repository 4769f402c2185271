"""bv-search study: how little is enough, from one command to tables, figures and a page."""

import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

from bv_search.command import Command, Progress, Result, main, positive_int
from bv_search.study.config import STUDIES, StudiesConfig

EXAMPLES = """
  bv-search study --task mrpc --encoder bert-base-uncased --data glue/MRPC --out studies/mrpc --dry-run
  bv-search study --task mrpc --encoder bert-base-uncased --data glue/MRPC --out studies/mrpc
  bv-search study --task squad2-span --encoder ./bert --data squad/ --stages 0.1,0.3,1,2 --out studies/squad
  bv-search study --task mrpc --encoder ./bert --out studies/small --only curve,heads --keep-stores no
  the same command again goes on where it was interrupted; more --stages, or other studies, add to it
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
        "--stages",
        type=numbers,
        default=StudiesConfig.stages,
        metavar="F,…",
        help="epochs of fine-tuning, 0 is the encoder as it comes (default: 0,0.1,0.3,1,2)",
    )
    parser.add_argument(
        "--fractions",
        type=numbers,
        default=StudiesConfig.fractions,
        metavar="F,…|F..F",
        help="of the data that the best head learns from; 0.1..1 in tenths (default: 0.1..1)",
    )
    parser.add_argument(
        "--heads",
        default=StudiesConfig.heads,
        metavar="SPACE",
        help="a grid: its heads are trained at every stage (default: paper-span or paper-classification)",
    )
    parser.add_argument(
        "--space",
        default=StudiesConfig.space,
        help="searched at every stage (default: adapters for spans, classification for the rest)",
    )
    parser.add_argument(
        "--trials", type=positive_int, metavar="N", help="heads of each search (default: as of tune)"
    )
    parser.add_argument(
        "--seeds",
        type=positive_int,
        default=StudiesConfig.seeds,
        metavar="N",
        help="times that each head is trained (default: %(default)s)",
    )
    parser.add_argument(
        "--cap",
        type=float,
        default=StudiesConfig.cap,
        metavar="PERCENT",
        help="of the encoder's parameters, that the heads of an ensemble may have (default: %(default)s)",
    )
    parser.add_argument(
        "--only",
        type=names,
        default=STUDIES,
        metavar="STUDY,…",
        help=f"some of {', '.join(STUDIES)} (default: all)",
    )
    parser.add_argument(
        "--keep-stores",
        type=yes_or_no,
        default=StudiesConfig.keep_stores,
        metavar="yes|no",
        help="no: the encoder feeds the heads as they train, and no hidden state is kept (default: yes)",
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        help="say what all steps will take, in seconds and bytes, by rates measured on this machine",
    )


def numbers(text: str) -> tuple[float, ...]:
    """Some of them, as in 0,0.3,1, or tenths, as in 0.1..1."""
    low, dots, high = text.partition("..")
    try:
        if dots:
            return tuple(number / 10 for number in range(round(float(low) * 10), round(float(high) * 10) + 1))
        return tuple(float(part) for part in text.split(","))
    except (ValueError, OverflowError):
        raise ArgumentTypeError(f"invalid value {text!r}: give numbers as in 0.3,1 or 0.1..1") from None


def names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ArgumentTypeError(f"invalid value {text!r}: yes or no")
    return text == "yes"


def run(args: Namespace, progress: Progress) -> Result:
    config = StudiesConfig(
        task=args.task,
        encoder=args.encoder,
        out=args.out,
        data=args.data,
        stages=args.stages,
        fractions=args.fractions,
        heads=args.heads,
        space=args.space,
        trials=args.trials,
        seeds=args.seeds,
        cap=args.cap,
        only=args.only,
        keep_stores=args.keep_stores,
    )
    from bv_search.study import studies  # with torch and Ray

    if args.dry_run:
        quote = studies.dry_run(config, progress)
        return Result(text=str(quote), json=quote.to_json())
    done = studies.run(config, progress)
    return Result(text=str(done), json=done.to_json())


COMMAND = Command(
    name="study",
    summary="How little fine-tuning, data and head is enough: the source work's studies, on any encoder.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=run,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
