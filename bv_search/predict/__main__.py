"""`bv-search predict RUN|HEAD`."""

import sys
from argparse import ArgumentParser, Namespace

from bv_search.command import Command, Progress, Result, main
from bv_search.predict.predict import PredictConfig, run

EXAMPLES = """
  bv-search predict runs/first                              its ensemble, or best head, on its report rows
  bv-search predict runs/first --data new.json              on new rows, with labels or without
  bv-search predict runs/first --member smallest --out answers.json
  bv-search predict runs/first --store stores/stage-1       a head on another stage's hidden states
  bv-search predict runs/first/trials/0003 --data new.tsv --out answers.tsv
"""


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("place", metavar="RUN|HEAD", help="a run, a trial's folder, a head or a saved model")
    parser.add_argument(
        "--member", metavar="NAME", help="of a run: a trial, best, smallest, ensemble or encoder"
    )
    parser.add_argument("--store", metavar="STORE", help="answer the report rows of this store")
    parser.add_argument("--data", metavar="FILE", help="answer these rows; of a folder its report rows")
    parser.add_argument(
        "--encoder",
        metavar="FOLDER",
        help="where the model's encoder is now, for --data or a store that keeps no hidden states",
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="a new file ending in .json, .jsonl or .tsv "
        "(default: predictions/MODEL-NAME in RUN|HEAD, replaced; NAME is that of --data's or --store's file)",
    )
    parser.add_argument("--overwrite", action="store_true", help="replace --out if it exists")
    parser.add_argument(
        "--device",
        default=PredictConfig.device,
        help="of the encoder: auto, cpu, cuda … (default: %(default)s)",
    )


def command(args: Namespace, progress: Progress) -> Result:
    result = run(
        PredictConfig(
            place=args.place,
            member=args.member,
            store=args.store,
            data=args.data,
            encoder=args.encoder,
            out=args.out,
            overwrite=args.overwrite,
            device=args.device,
        ),
        progress,
    )
    return Result(text=result.text(), json=result.to_json())


COMMAND = Command(
    name="predict",
    summary="Answer rows with a run's ensemble, its best head, or any head.",
    examples=EXAMPLES,
    add_arguments=add_arguments,
    run=command,
)

if __name__ == "__main__":
    sys.exit(main(COMMAND))
